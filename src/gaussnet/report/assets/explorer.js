(() => {
  const one = (query) => document.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const model = JSON.parse(one("#model").textContent);
  const algebra = makeAlgebra(model);
  const picture = one("#network");
  const view = makeMovable(picture);
  const boxes = all(".node", picture);
  const REACH = 4; // standard deviations to both ends of a strip and of the slider
  const MOST_PATHS = 5; // listed
  const MANY_PATHS = 1000; // counted
  const WORDS = { seen: "observed", set: "set" };

  // Nodes by the number of their box; `id` is that of the algebra.
  const nodes = boxes.map((box, index) => ({
    box, index, id: model.shown[index], name: model.nodes[model.shown[index]],
  }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  // A category is several nodes, of which at most one is 1; its level fixes all of them.
  for (const factor of model.factors) {
    factor.own = factor.nodes.map((id) => byId.get(id));
    factor.own.forEach((node, k) => Object.assign(node, { factor, rank: k + 1 }));
  }
  const edges = [];
  model.parents.forEach((parents, to) => parents.forEach((from, k) => {
    edges.push({ id: edges.length, from, to, value: model.coefficients[to][k] });
  }));
  const drawn = new Map(all(".edge", picture).map((part) => [
    `${model.shown[part.dataset.from]},${model.shown[part.dataset.to]}`, part]));
  for (const edge of edges) edge.part = drawn.get(`${edge.from},${edge.to}`);

  const scenarios = { A: new Map(), B: new Map() };
  let active = "A";
  let chosen = null;
  let habit = "seen";
  const nothing = new Map();
  const base = algebra.answer(nothing, nothing).found;
  for (const node of nodes) Object.assign(node, { before: base.get(node.id) });

  const MINUS = "\u2212";
  const signed = (value, shown) => (value < 0 && Number(shown) ? MINUS + shown : shown);
  const number = (value, digits = 4) => {
    const size = Math.abs(value);
    if (size && (size < 1e-4 || size >= 1e5)) return signed(value, size.toExponential(digits - 1));
    const places = size ? digits - 1 - Math.floor(Math.log10(size)) : digits - 1;
    return signed(value, size.toFixed(Math.min(Math.max(places, 0), 7)));
  };
  const plus = (value, shown) => (value > 0 && Number(shown) ? `+${shown}` : shown);
  const inSd = (value) => {
    const size = Math.abs(value);
    const shown = size >= 1e4 ? size.toExponential(1) : size.toFixed(2);
    return plus(value, signed(value, shown));
  };
  // The number of the level that a category has in a scenario; 0 is the reference.
  const levelOf = (factor, scenario) =>
    factor.own.findIndex((node) => scenarios[scenario].get(node)?.value === 1) + 1;
  // What is fixed, a category once: its node, its name, how, and the value as words.
  const fixedParts = (scenario) => [...scenarios[scenario]]
    .filter(([node]) => !node.factor || node.rank === 1)
    .map(([node, { mode, value }]) => (node.factor
      ? { node, mode, name: node.factor.name, level: node.factor.levels[levelOf(node.factor, scenario)] }
      : { node, mode, name: node.name, value }));
  const shownValue = ({ level, value }) => level ?? number(value);
  const parts = (scenario) => {
    const maps = { seen: new Map(), set: new Map() };
    for (const [node, { mode, value }] of scenarios[scenario]) maps[mode].set(node.id, value);
    return maps;
  };
  const compare = () => one("#compare").checked;
  const reach = (answer) => model.point * answer.sd;
  const interval = (answer) =>
    `${number(answer.mean - reach(answer))} to ${number(answer.mean + reach(answer))}`;
  // A shift in standard deviations of the node before; null where it has none.
  const relative = (node, shift) => (node.before.sd > 0 ? shift / node.before.sd : null);

  // The slider: four standard deviations to both sides, in round steps.
  const rangeOf = (node) => {
    const spread = node.before.sd || Math.abs(node.before.mean) / 10 || 1;
    const rough = spread / 50;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    return { step, middle: Math.round(node.before.mean / step), most: Math.round(REACH * spread / step) };
  };
  // A multiple of the step, written without the noise of binary fractions.
  const rounded = (value, step) => Number((Math.round(value / step) * step).toPrecision(15));

  const now = {};
  const solve = () => {
    for (const name of ["A", "B"]) {
      const { seen, set } = parts(name);
      now[name] = algebra.answer(seen, set);
    }
  };

  // Drawing.
  const strip = (node, answer, kind) => {
    const group = node.box.querySelector("[data-w]");
    const width = Number(group.dataset.w);
    const spread = node.before.sd || 1;
    const at = (value) => {
      const share = (value - node.before.mean) / (2 * REACH * spread) + 0.5;
      return Math.min(Math.max(share, 0), 1) * width;
    };
    const y = compare() ? (kind === "other" ? 2 : -2) : 0;
    const line = group.querySelector(kind === "other" ? ".reach.other" : ".reach:not(.other)");
    const dot = group.querySelector(kind === "other" ? ".dot.other" : ".dot:not(.other)");
    const far = reach(answer);
    line.setAttribute("d", `M${at(answer.mean - far).toFixed(1)} ${y}H${at(answer.mean + far).toFixed(1)}`);
    dot.setAttribute("cx", at(answer.mean).toFixed(1));
    dot.setAttribute("cy", y);
  };
  // The node of a level is 1 or 0: its mean is a share of the cases, and it has no interval.
  const shareWords = (mean) => (mean < 0 || mean > 1 ? number(mean, 3) : `${(100 * mean).toFixed(0)} %`);
  const levelWords = (fixed, answer) => (fixed
    ? `${fixed.value === 1 ? "yes" : "no"}, ${WORDS[fixed.mode]}` : `${shareWords(answer.mean)} of cases`);
  const wordsOf = (node, fixed, answer, shift) => {
    if (node.factor && compare() && !fixed) {
      return ["A", "B"].map((one) => shareWords(now[one].found.get(node.id).mean)).join(" | ");
    }
    if (node.factor) return levelWords(fixed, answer);
    if (fixed) return `${number(fixed.value, 3)} ${WORDS[fixed.mode]}`;
    if (compare()) return `${number(now.A.found.get(node.id).mean, 3)} | ${number(now.B.found.get(node.id).mean, 3)}`;
    const moved = relative(node, shift);
    return moved === null || Math.abs(moved) < 0.005
      ? number(answer.mean, 3) : `${number(answer.mean, 3)}  ${inSd(moved)} sd`;
  };
  const paint = (node) => {
    const answer = now[active].found.get(node.id);
    const shift = shiftOf(node);
    const fixed = scenarios[active].get(node);
    const moved = relative(node, shift) ?? 0;
    const { box } = node;
    box.classList.toggle("seen", fixed?.mode === "seen");
    box.classList.toggle("set", fixed?.mode === "set");
    box.classList.toggle("self", node === chosen);
    box.classList.toggle("up", moved > 0.005);
    box.classList.toggle("down", moved < -0.005);
    box.style.setProperty("--share", `${Math.min(70, 12 + Math.abs(moved) * 32).toFixed(0)}%`);
    const line = box.querySelector(".mean");
    if (line) line.textContent = wordsOf(node, fixed, answer, shift);
    strip(node, now[compare() ? "A" : active].found.get(node.id), "own");
    if (compare()) strip(node, now.B.found.get(node.id), "other");
    box.setAttribute("aria-pressed", node === chosen);
    const state = node.factor ? levelWords(fixed, answer) : fixed ? `${WORDS[fixed.mode]} at ${number(fixed.value)}`
      : `mean ${number(answer.mean)}, ${100 * model.level} % interval ${interval(answer)}`;
    const change = fixed || Math.abs(moved) < 0.005 ? "" : `, ${inSd(moved)} standard deviations`;
    box.setAttribute("aria-label", `${node.name}: ${state}${change}`);
  };
  const shiftOf = (node) => (compare()
    ? now.B.found.get(node.id).mean - now.A.found.get(node.id).mean
    : now[active].found.get(node.id).mean - node.before.mean);
  const light = () => {
    const { seen, set } = parts(active);
    const fixed = chosen !== null && scenarios[active].has(chosen);
    const targets = chosen !== null && !fixed ? [chosen.id] : model.nodes.keys();
    const lit = algebra.carriers(edges, seen, set, new Set(targets));
    for (const edge of edges) {
      if (!edge.part) continue;
      edge.part.classList.toggle("lit", lit.has(edge.id));
      edge.part.classList.toggle("cut", set.has(edge.to));
    }
    picture.classList.toggle("asked", scenarios[active].size > 0);
  };

  // Table.
  const body = one("#answers tbody");
  for (const node of nodes) {
    const row = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.className = "text";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "name";
    button.textContent = node.name;
    button.addEventListener("click", () => choose(node));
    const badge = document.createElement("span");
    badge.className = "badge";
    head.append(button, badge);
    row.append(head);
    for (const kind of ["", "", "", "other", "other", "", "", "bar"]) row.insertCell().className = kind;
    const bar = document.createElement("span");
    bar.append(document.createElement("i"));
    row.cells[8].append(bar);
    node.row = row;
    row.dataset.name = node.name;
    row.dataset.before = node.before.mean;
    row.cells[1].textContent = number(node.before.mean);
  }
  const fill = (node) => {
    const { row } = node;
    const [a, b] = [now[compare() ? "A" : active].found.get(node.id), now.B.found.get(node.id)];
    const shift = shiftOf(node);
    const moved = relative(node, shift);
    const fixed = scenarios[active].get(node);
    Object.assign(row.dataset, { mean: a.mean, sd: a.sd, shift });
    if (compare()) Object.assign(row.dataset, { otherMean: b.mean, otherSd: b.sd });
    row.cells[2].textContent = number(a.mean);
    row.cells[3].textContent = a.sd > 0 && !node.factor ? interval(a) : "\u2013";
    row.cells[4].textContent = number(b.mean);
    row.cells[5].textContent = b.sd > 0 && !node.factor ? interval(b) : "\u2013";
    row.cells[6].textContent = plus(shift, number(shift));
    row.cells[7].textContent = moved === null ? "\u2013" : inSd(moved);
    const size = Math.min(Math.abs(moved ?? 0) / REACH, 1) * 50;
    const bar = row.cells[8].querySelector("i");
    bar.className = shift < 0 ? "down" : "up";
    bar.style.left = `${shift < 0 ? 50 - size : 50}%`;
    bar.style.width = `${size}%`;
    const badge = row.querySelector(".badge");
    badge.textContent = fixed ? WORDS[fixed.mode] : "";
    badge.className = `badge ${fixed?.mode ?? ""}`;
    row.classList.toggle("self", node === chosen);
  };
  const arrange = () => {
    const way = one("#order").value;
    const sorted = [...nodes];
    const size = (node) => Math.abs(relative(node, shiftOf(node)) ?? 0);
    if (way === "shift") {
      const fixed = (node) => scenarios[active].has(node);
      sorted.sort((a, b) => fixed(b) - fixed(a) || size(b) - size(a) || a.index - b.index);
    }
    if (way === "name") {
      sorted.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    }
    body.append(...sorted.map((node) => node.row));
  };
  one("#order").addEventListener("change", arrange);
  one("#filter").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const node of nodes) node.row.hidden = !node.name.toLowerCase().includes(wanted);
  });

  // Panel.
  const slider = one("#slider");
  const field = one("#value");
  const showPanel = () => {
    one("#editor").hidden = chosen === null;
    one("#chosen").textContent = chosen === null ? "Choose a node" : chosen.name;
    if (chosen === null) {
      one("#state").textContent = "Click one in the drawing or in the table, or type its name.";
      return;
    }
    const answer = now[active].found.get(chosen.id);
    const fixed = scenarios[active].get(chosen);
    one(`[name=mode][value=${fixed?.mode ?? "free"}]`).checked = true;
    const { factor } = chosen;
    one("#values").hidden = Boolean(factor);
    one("#levels").hidden = !factor;
    if (factor) {
      showLevels(factor, fixed);
      return;
    }
    const { step, middle, most } = rangeOf(chosen);
    const value = fixed ? fixed.value : answer.mean;
    // The slider counts steps from the mean before, so that its values are whole numbers.
    Object.assign(slider, { min: -most, max: most, step: 1 });
    slider.value = Math.round(value / step) - middle;
    slider.setAttribute("aria-label", `Value of ${chosen.name}`);
    slider.setAttribute("aria-valuetext", `${number(value)}${fixed ? ` ${WORDS[fixed.mode]}` : ""}`);
    if (document.activeElement !== field) field.value = fixed ? fixed.value : rounded(value, step);
    one("#least").textContent = number((middle - most) * step, 3);
    one("#most").textContent = number((middle + most) * step, 3);
    one("#values").classList.toggle("quietly", !fixed);
    const before = `Before: ${number(chosen.before.mean)} (${interval(chosen.before)}).`;
    one("#state").textContent = fixed
      ? `${before} Now ${WORDS[fixed.mode]} at ${number(fixed.value)}.`
      : `${before} Now: ${number(answer.mean)} (${interval(answer)}).`;
  };
  const showLevels = (factor, fixed) => {
    const options = fixed ? factor.levels : ["\u2013", ...factor.levels];
    one("#level").replaceChildren(...options.map((name, k) => {
      const option = document.createElement("option");
      option.value = fixed ? k : k - 1;
      option.textContent = name;
      return option;
    }));
    one("#level").value = fixed ? levelOf(factor, active) : -1;
    one("#level").setAttribute("aria-label", `Level of ${factor.name}`);
    one("#chosen").textContent = factor.name;
    const share = (node) => `${factor.levels[node.rank]} ${(100 * node.before.mean).toFixed(0)} %`;
    one("#state").textContent = fixed
      ? `${factor.name} is ${WORDS[fixed.mode]} at ${factor.levels[levelOf(factor, active)]}.`
      : `Shares of its levels: ${factor.own.map(share).join(", ")}, else ${factor.levels[0]}.`;
  };
  const showFixed = () => {
    const list = one("#fixed");
    list.replaceChildren(...fixedParts(active).map((part) => {
      const { node, mode } = part;
      const item = document.createElement("li");
      const name = document.createElement("button");
      name.type = "button";
      name.className = "name";
      name.textContent = part.name;
      name.addEventListener("click", () => choose(node));
      const text = document.createElement("span");
      text.className = mode;
      text.textContent = ` ${WORDS[mode]} at ${shownValue(part)} `;
      const free = document.createElement("button");
      free.type = "button";
      free.textContent = "\u00d7";
      free.setAttribute("aria-label", `Free ${part.name}`);
      free.addEventListener("click", () => {
        choose(node);
        change("free");
        one("#clear").focus();
      });
      item.append(name, text, free);
      return item;
    }));
    if (!scenarios[active].size) list.innerHTML = "<li class=faint>nothing</li>";
    one("#clear").disabled = !scenarios[active].size;
    const other = active === "A" ? "B" : "A";
    one("#same").textContent = `Copy from ${other}`;
    one("#same").disabled = !scenarios[other].size;
  };
  const showRoutes = () => {
    const home = one("#routes");
    home.replaceChildren();
    if (chosen === null || scenarios[active].has(chosen)) return;
    const { seen, set } = parts(active);
    const fixed = new Set([...seen.keys(), ...set.keys()]);
    for (const source of set.keys()) {
      const found = algebra.paths(edges, source, chosen.id, fixed, MANY_PATHS);
      if (!found.length) continue;
      const head = document.createElement("h3");
      head.textContent = `Directed paths from ${model.nodes[source]}, effect per unit`;
      const list = document.createElement("ul");
      for (const { nodes: path, effect } of found.slice(0, MOST_PATHS)) {
        const item = document.createElement("li");
        item.textContent = `${path.map((id) => model.nodes[id]).join(" \u2192 ")}: ${number(effect)}`;
        list.append(item);
      }
      const more = found.length - MOST_PATHS;
      if (more > 0) {
        const item = document.createElement("li");
        item.className = "faint";
        item.textContent = found.length > MANY_PATHS ? "and many more" : `and ${more} more`;
        list.append(item);
      }
      home.append(head, list);
    }
  };

  // Lines to copy: a Python string is written as JSON, a shell word in single quotes.
  const fixedBy = (mode) => fixedParts(active).filter((part) => part.mode === mode);
  const python = () => {
    const [seen, set] = [fixedBy("seen"), fixedBy("set")];
    const words = ({ level, value }) => (level === undefined ? value : JSON.stringify(level));
    const dict = (list) => `{${list.map(
      (part) => `${JSON.stringify(part.name)}: ${words(part)}`).join(", ")}}`;
    const held = model.source === null ? model.held : "net";
    const net = set.length ? `${held}.do(${dict(set)})` : held;
    const read = model.source === null ? ""
      : `import gaussnet as gn\nnet = gn.read_network(${JSON.stringify(model.source)})\n`;
    return `${read}law = ${net}.condition(${dict(seen)})`;
  };
  const quoted = (word) =>
    (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const shell = () => {
    const options = (flag, mode) => fixedBy(mode).map(({ name, level, value }) => {
      const word = `${name}=${level ?? value}`;
      return word.startsWith("-") ? `${flag}=${quoted(word)}` : `${flag} ${quoted(word)}`;
    });
    const level = model.level === 0.95 ? [] : [`--level ${model.level}`];
    const first = model.source === null ? `# first, in Python: ${model.saving}\n` : "";
    return first + ["gaussnet query", quoted(model.source ?? "model.json"),
      ...options("--given", "seen"), ...options("--do", "set"), ...level].join(" ");
  };
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = one(`#${button.dataset.copy}`);
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection().selectAllChildren(source);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // What a reader hears, once things are still.
  let speaking = null;
  const speak = () => {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      const fixed = fixedParts(active).map(
        (part) => `${part.name} ${WORDS[part.mode]} at ${shownValue(part)}`);
      const moved = nodes.map((node) => [node, relative(node, shiftOf(node)) ?? 0])
        .filter(([node, size]) => Math.abs(size) >= 0.005 && !scenarios[active].has(node))
        .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
      const first = moved.slice(0, 3).map(([node, size]) => `${node.name} ${inSd(size)}`);
      const told = moved.length
        ? `${moved.length} moved, in standard deviations: ${first.join(", ")}${moved.length > 3 ? ", \u2026" : ""}.`
        : "No other node moves.";
      one("#live").textContent = `Scenario ${active}: ${fixed.join(", ") || "nothing fixed"}. ${told}`;
    }, 350);
  };

  // What speaks against the values of a scenario: impossible, codes, or far outside what was seen.
  const problemsOf = (scenario) => {
    const { wrong } = now[scenario];
    const told = wrong === null ? [] : [`These values cannot be: ${model.nodes[wrong]} is determined `
      + "by the others, because nodes without noise fix it. Change or free it."];
    if (now[scenario].rough) {
      told.push("What is observed tells of the levels of several categories, which are too many to "
        + "average over: the answers are rough. Fix the level of some.");
    }
    for (const [node, { value }] of scenarios[scenario]) {
      const usual = model.usual[node.index];
      const given = `${node.name} = ${number(value)}`;
      if (!node.factor && model.codes.includes(value)) {
        told.push(`${given} stands for a missing value in the rows that the network was learnt from: `
          + "free the node if its value is not known.");
      } else if (usual && (value < usual.ends[0] || value > usual.ends[1])) {
        const [low, high] = usual.range.map((end) => number(end));
        told.push(`${given} lies far outside what ${usual.words} (${low} to ${high}): the answers `
          + "extrapolate.");
      }
    }
    return told;
  };
  const refresh = ({ settled = true } = {}) => {
    solve();
    document.body.classList.toggle("comparing", compare());
    for (const node of nodes) {
      paint(node);
      fill(node);
    }
    const problem = one("#problem");
    const told = problemsOf(active);
    problem.hidden = !told.length;
    if (problem.textContent !== told.join(" ")) problem.textContent = told.join(" ");
    showPanel();
    one("#python").textContent = python();
    one("#shell").textContent = shell();
    if (settled) {
      light();
      arrange();
      showFixed();
      showRoutes();
    }
    speak();
  };
  const choose = (node, { focus = false } = {}) => {
    chosen = node;
    if (node !== null) {
      for (const other of nodes) other.box.setAttribute("tabindex", other === node ? 0 : -1);
      view.include(node.box.getBBox());
      if (focus) node.box.focus({ preventScroll: true });
    }
    refresh();
  };
  // The chosen node is observed or set at a value, or free.
  const change = (mode, value, options) => {
    if (chosen === null) return;
    const { factor } = chosen;
    if (mode === "free") for (const node of factor?.own ?? [chosen]) scenarios[active].delete(node);
    else if (factor) {
      habit = mode;
      const level = value ?? (scenarios[active].has(chosen) ? levelOf(factor, active) : chosen.rank);
      for (const node of factor.own) {
        scenarios[active].set(node, { mode, value: node.rank === level ? 1 : 0 });
      }
    } else {
      habit = mode;
      const { step } = rangeOf(chosen);
      const start = rounded(now[active].found.get(chosen.id).mean, step);
      const old = scenarios[active].get(chosen);
      scenarios[active].set(chosen, { mode, value: value ?? old?.value ?? start });
    }
    refresh(options);
  };
  const modeNow = () => scenarios[active].get(chosen)?.mode ?? habit;

  slider.addEventListener("input", () => {
    const { step, middle } = rangeOf(chosen);
    change(modeNow(), rounded((middle + Number(slider.value)) * step, step), {
      settled: !scenarios[active].has(chosen),
    });
  });
  slider.addEventListener("change", () => refresh());
  one("#level").addEventListener("change", (event) => {
    const level = Number(event.target.value);
    if (level >= 0) change(modeNow(), level);
  });
  field.addEventListener("input", () => {
    const value = field.valueAsNumber;
    if (Number.isFinite(value)) change(modeNow(), value);
  });
  field.addEventListener("blur", () => showPanel());
  for (const radio of all("[name=mode]")) {
    radio.addEventListener("change", () => change(radio.value));
  }
  for (const radio of all("[name=scenario]")) {
    radio.addEventListener("change", () => {
      active = radio.value;
      refresh();
    });
  }
  one("#compare").addEventListener("change", () => refresh());
  one("#clear").addEventListener("click", () => {
    scenarios[active].clear();
    refresh();
    one("#find").focus();
  });

  one("#same").addEventListener("click", () => {
    scenarios[active] = new Map(scenarios[active === "A" ? "B" : "A"]);
    refresh();
  });

  // Mouse and keys in the drawing.
  const nodeOf = (event) => {
    const box = event.target.closest?.(".node");
    return box ? nodes[box.dataset.node] : null;
  };
  picture.addEventListener("click", (event) => {
    const node = nodeOf(event);
    if (node) choose(node, { focus: true });
  });
  const centreOf = ({ box }) => {
    const { x, y, width, height } = box.getBBox();
    return [x + width / 2, y + height / 2];
  };
  const neighbour = (node, [right, down]) => {
    const [x, y] = centreOf(node);
    let best = null, least = Infinity;
    for (const other of nodes) {
      const [u, v] = centreOf(other);
      const along = (u - x) * right + (v - y) * down;
      const across = Math.abs((u - x) * down) + Math.abs((v - y) * right);
      const ahead = other !== node && along > 1 && across < 4 * along;
      if (ahead && along + across < least) [best, least] = [other, along + across];
    }
    return best;
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  picture.addEventListener("keydown", (event) => {
    const node = nodeOf(event);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key in STEPS) {
      const other = neighbour(node, STEPS[key]);
      if (other) {
        for (const one of nodes) one.box.setAttribute("tabindex", one === other ? 0 : -1);
        view.include(other.box.getBBox());
        other.box.focus({ preventScroll: true });
      }
    } else if (key === "Enter" || key === " ") choose(node);
    else if (key === "o" || key === "s") {
      choose(node);
      change(key === "o" ? "seen" : "set");
      (node.factor ? one("#level") : slider).focus();
    } else if (key === "Delete" || key === "Backspace") {
      choose(node);
      change("free");
    } else if (key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
  one("#editor").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || chosen === null) return;
    chosen.box.focus();
    event.preventDefault();
  });
  const find = one("#find");
  const found = (exact) => {
    const wanted = find.value.trim().toLowerCase();
    if (!wanted) return null;
    const same = nodes.find(({ name }) => name.trim().toLowerCase() === wanted);
    if (same || exact) return same ?? null;
    return nodes.find(({ name }) => name.toLowerCase().includes(wanted)) ?? null;
  };
  const go = (node) => {
    if (!node) return;
    choose(node);
    view.centre(node.box.getBBox());
  };
  find.addEventListener("input", () => go(found(true)));
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(found(false));
  });

  refresh();
})();
