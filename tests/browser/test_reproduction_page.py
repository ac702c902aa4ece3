"""The page of a reproduction in a browser."""

from gaussnet.reproduce.outputs import write_reproduction
from gaussnet.reproduce.run import Run, Store


def test_the_page_of_a_run_shows_its_figures_and_asks_for_nothing(tmp_path, look):
    run = Run.of(["er5"], ["plotted"], repetitions=1, nodes=20, rows=[100])
    store = Store.open(tmp_path, run)
    for task in run.tasks():
        store.keep(task, task.run())
    path = write_reproduction(run, store).page
    page = look(path)
    widths = page.locator("figure img").evaluate_all("all => all.map(one => one.naturalWidth)")
    assert len(widths) == 1
    assert widths[0] > 100
    assert page.locator("h1").inner_text().endswith("reproduced")
