"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const one = (query) => document.querySelector(query);

  // Tables: sort by a head, filter by a text.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (!("v" in cell.dataset)) return cell.textContent;
    return cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
  };
  const compare = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return a - b;
  };
  for (const table of all("table.sortable")) {
    const heads = all("th", table);
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
        rows.sort(([a], [b]) => {
          const unknown = Number.isNaN(a) || Number.isNaN(b); // stands last either way
          return up || unknown ? compare(a, b) : compare(b, a);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
  const membersOf = (name) =>
    name === "residuals" ? all(".residual") : [...one(`#${name}`).tBodies[0].rows];
  const wordsOf = (member) =>
    member.dataset.name ?? all("td.text", member).map((cell) => cell.textContent).join("\n");
  for (const field of all("[data-filter]")) {
    const name = field.dataset.filter;
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      const members = membersOf(name);
      let shown = 0;
      for (const member of members) {
        member.hidden = !wordsOf(member).toLowerCase().includes(wanted);
        shown += !member.hidden;
      }
      const count = one(`[data-count="${name}"]`);
      if (count) count.textContent = wanted ? `${shown} of ${members.length}` : `${shown}`;
    });
  }
  const order = one("#order");
  if (order) {
    const home = one("#residuals");
    const figures = all(".residual", home);
    order.addEventListener("change", () => {
      const sorted = [...figures];
      if (order.value === "worst") sorted.sort((a, b) => b.dataset.value - a.dataset.value);
      home.append(...sorted);
    });
  }

  // The drawing: titles become a tip, neighbours light up.
  const picture = one("#network");
  if (!picture) return;
  const tip = one("#tip");
  const nodes = all(".node", picture);
  const edges = all(".edge", picture);
  const words = new Map();
  for (const part of [...nodes, ...edges]) {
    const title = part.querySelector("title");
    words.set(part, title.textContent);
    part.setAttribute("role", "img");
    part.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  const light = (part) => {
    for (const other of [...nodes, ...edges]) other.classList.remove("near", "self");
    picture.classList.toggle("chosen", Boolean(part));
    if (!part) return;
    part.classList.add("near", "self");
    const own = part.dataset.node;
    const touched = own === undefined ? [part] : edges.filter(
      (edge) => edge.dataset.from === own || edge.dataset.to === own);
    for (const edge of touched) {
      edge.classList.add("near");
      nodes[edge.dataset.from].classList.add("near");
      nodes[edge.dataset.to].classList.add("near");
    }
  };
  const place = (event) => {
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - width - 8);
    const below = event.clientY + 16;
    const y = below + height > innerHeight ? event.clientY - height - 10 : below;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(4, y)}px`;
  };
  const view = makeMovable(picture);
  picture.addEventListener("pointerover", (event) => {
    const part = event.target.closest(".node, .edge");
    if (view.isHeld() || !part) return;
    tip.textContent = words.get(part);
    tip.hidden = false;
    place(event);
    light(part);
  });
  picture.addEventListener("pointerout", (event) => {
    if (event.target.closest(".node, .edge")) {
      tip.hidden = true;
      light(null);
    }
  });

  picture.addEventListener("pointermove", (event) => {
    if (!tip.hidden && !view.isHeld()) place(event);
  });

  // Find: mark nodes whose name holds the text; Enter goes to the next of them.
  const find = one("#find");
  let next = 0;
  const found = () => {
    const wanted = find.value.trim().toLowerCase();
    return nodes.filter((node) =>
      wanted && words.get(node).split("\n", 1)[0].toLowerCase().includes(wanted));
  };
  find.addEventListener("input", () => {
    const hits = new Set(found());
    for (const node of nodes) node.classList.toggle("found", hits.has(node));
    next = 0;
  });
  find.addEventListener("keydown", (event) => {
    const hits = found();
    if (event.key !== "Enter" || !hits.length) return;
    view.centre(hits[next++ % hits.length].getBBox());
  });
})();
