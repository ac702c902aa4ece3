"use strict";
// What a linear Gaussian network answers. A node is c + sum of a * parent + s * noise; nodes are
// in topological order. Every node is its mean plus a row of weights on the independent noises,
// so that evidence is a few equations in the noise, solved by orthogonal rows: no digit is lost
// to squaring, and a scale may be 0.
const makeAlgebra = (model) => {
  const count = model.nodes.length;
  const ROUNDING = 8 * Number.EPSILON;
  const IMPOSSIBLE = 1e-9;
  const MOST_KEPT = 16;
  const MOST_LEVELS = 1000; // combinations that are averaged over

  const dot = (a, b) => {
    let sum = 0;
    for (let k = 0; k < count; k++) sum += a[k] * b[k];
    return sum;
  };
  const addTo = (a, factor, b) => {
    for (let k = 0; k < count; k++) a[k] += factor * b[k];
  };

  const means = (set) => {
    const mean = new Float64Array(count);
    for (let node = 0; node < count; node++) {
      if (set.has(node)) {
        mean[node] = set.get(node);
        continue;
      }
      let value = model.intercepts[node];
      const parents = model.parents[node];
      for (let k = 0; k < parents.length; k++) value += model.coefficients[node][k] * mean[parents[k]];
      mean[node] = value;
    }
    return mean;
  };

  // The row of a node: one pass against the arrows, which end at nodes that are set.
  const rowOf = (target, set) => {
    const row = new Float64Array(count);
    row[target] = 1;
    for (let node = target; node >= 0; node--) {
      const weight = row[node];
      if (weight === 0) continue;
      if (set.has(node)) {
        row[node] = 0;
        continue;
      }
      const parents = model.parents[node];
      for (let k = 0; k < parents.length; k++) row[parents[k]] += weight * model.coefficients[node][k];
      row[node] = weight * model.scales[node];
    }
    return row;
  };

  // Rows depend on which nodes are set, not on their values.
  const known = new Map();
  const rowsFor = (set) => {
    const key = [...set.keys()].sort((a, b) => a - b).join(",");
    if (known.size > MOST_KEPT) known.clear();
    const rows = known.get(key) ?? known.set(key, new Map()).get(key);
    for (const node of model.shown) if (!rows.has(node)) rows.set(node, rowOf(node, set));
    return rows;
  };

  // An orthonormal basis of the rows of the evidence, largest first, and the least noise that
  // explains the evidence.
  const explain = (seen, rows, mean) => {
    const left = [...seen].map(([node, value]) => {
      const row = Float64Array.from(rows.get(node));
      const size = Math.sqrt(dot(row, row));
      const unit = size > 0 ? size : 1;
      for (let k = 0; k < count; k++) row[k] /= unit;
      const terms = Math.abs(value) + Math.abs(mean[node]);
      return { node, value, row, gap: (value - mean[node]) / unit, terms: terms / unit };
    });
    const basis = [];
    const noise = new Float64Array(count);
    while (left.length) {
      let best = 0;
      const sizes = left.map(({ row }) => dot(row, row));
      sizes.forEach((size, k) => { if (size > sizes[best]) best = k; });
      const size = Math.sqrt(sizes[best]);
      if (size <= ROUNDING * count) break;
      const [{ row, gap, terms }] = left.splice(best, 1);
      for (const other of basis) addTo(row, -dot(row, other), other);
      const length = Math.sqrt(dot(row, row));
      for (let k = 0; k < count; k++) row[k] /= length;
      const step = gap / length;
      addTo(noise, step, row);
      basis.push(row);
      for (const rest of left) {
        const part = dot(rest.row, row);
        addTo(rest.row, -part, row);
        rest.gap -= part * step;
        rest.terms += Math.abs(part) * (terms / length);
      }
    }
    const wrong = left.find(({ gap, terms }) => Math.abs(gap) > IMPOSSIBLE * terms);
    return { basis, noise, wrong: wrong ? wrong.node : null };
  };

  // The categories whose level is open and of which observed nodes tell.
  const toldOf = (seen, set) => {
    const rows = rowsFor(set);
    return model.factors.filter(({ nodes, covaries }) => {
      if (nodes.every((node) => seen.has(node) || set.has(node))) return false;
      if (covaries && seen.size) return true;
      const none = new Map([...set, ...nodes.map((node) => [node, 0])]);
      const cut = rowsFor(none);
      return [...seen.keys()].some((node) => rows.get(node).some((own, k) => own !== cut.get(node)[k]));
    });
  };
  // All combinations of the levels of some categories.
  const combinations = (factors) => factors.reduce((found, { levels }) =>
    found.flatMap((chosen) => levels.map((_, level) => [...chosen, level])), [[]]);

  // Indicators of a category at a level.
  const at = ({ nodes }, level) => nodes.map((node, k) => [node, Number(k + 1 === level)]);

  // The share of levels, by their categories; those of categories that covary are joint.
  const shareOf = (levels) => model.shares.reduce((product, { members, shares }) => {
    const sizes = members.map((member) => model.factors[member].levels.length);
    const wanted = members.map((member) => levels.get(model.factors[member]));
    if (wanted.every((level) => level === undefined)) return product;
    const sum = shares.reduce((found, share, place) => {
      let rest = place, fits = true;
      for (let k = sizes.length - 1; k >= 0; k--) {
        if (wanted[k] !== undefined && wanted[k] !== rest % sizes[k]) fits = false;
        rest = Math.floor(rest / sizes[k]);
      }
      return fits ? found + share : found;
    }, 0);
    return product * sum;
  }, 1);

  // Of combinations of levels given the levels that are observed; where the data never had these
  // with any other, categories are taken as independent.
  const sharesGiven = (factors, combined, seen) => {
    const given = model.factors.filter(({ nodes }) => nodes.every((node) => seen.has(node)))
      .map((factor) => [factor, 1 + factor.nodes.findIndex((node) => seen.get(node) === 1)]);
    const found = combined.map((levels) =>
      shareOf(new Map([...given, ...factors.map((factor, k) => [factor, levels[k]])])));
    if (found.some((share) => share > 0)) return found;
    return combined.map((levels) =>
      factors.reduce((product, factor, k) => product * shareOf(new Map([[factor, levels[k]]])), 1));
  };

  // Means and standard deviations of the shown nodes, given what is seen and what is set. Levels
  // of which observed nodes tell are averaged over, by Bayes.
  const answer = (seen, set) => {
    const told = toldOf(seen, set);
    const count = told.reduce((product, { levels }) => product * levels.length, 1);
    const rough = told.some(({ joint }) => !joint) || count > MOST_LEVELS;
    if (!told.length || rough) return { ...plain(seen, set), rough: told.length > 0 };
    const combined = combinations(told);
    const shares = sharesGiven(told, combined, seen);
    // A level that covaries with other nodes is observed, which moves these; others are set. The
    // distance of what is observed does not count the levels themselves.
    const known = model.factors.filter(({ nodes, covaries }) =>
      covaries && nodes.every((node) => seen.has(node))).flatMap(({ nodes }) => nodes);
    const parts = combined.flatMap((levels, place) => {
      if (!(shares[place] > 0)) return [];
      const all = told.map((factor, k) => ({ factor, own: at(factor, levels[k]) }));
      const observed = all.filter(({ factor }) => factor.covaries).flatMap(({ own }) => own);
      const fixed = new Map([...set, ...all.filter(({ factor }) => !factor.covaries).flatMap(({ own }) => own)]);
      const part = plain(new Map([...seen, ...observed]), fixed);
      const alone = observed.length
        ? plain(new Map([...known.map((node) => [node, seen.get(node)]), ...observed]), fixed).squares : 0;
      return [{ ...part, log: Math.log(shares[place]) - (part.squares - alone) / 2 }];
    }).filter(({ wrong }) => wrong === null);
    if (!parts.length) return plain(seen, set);
    const largest = Math.max(...parts.map(({ log }) => log));
    const weights = parts.map(({ log }) => Math.exp(log - largest));
    const total = weights.reduce((sum, own) => sum + own, 0);
    const average = (values) => values.reduce((sum, own, k) => sum + weights[k] * own, 0) / total;
    const found = new Map();
    for (const node of model.shown) {
      const own = parts.map((part) => part.found.get(node));
      const mean = average(own.map((one) => one.mean));
      const square = average(own.map((one) => one.sd ** 2 + (one.mean - mean) ** 2));
      found.set(node, { mean, sd: Math.sqrt(square) });
    }
    return { found, wrong: null };
  };

  // The same with categories taken as Gaussian; `squares` is the distance of what is seen.
  const plain = (seen, set) => {
    const mean = means(set);
    const rows = rowsFor(set);
    const { basis, noise, wrong } = explain(seen, rows, mean);
    const found = new Map();
    for (const node of model.shown) {
      if (set.has(node) || seen.has(node)) {
        found.set(node, { mean: set.has(node) ? set.get(node) : seen.get(node), sd: 0 });
        continue;
      }
      const row = rows.get(node);
      const rest = Float64Array.from(row);
      for (let twice = 0; twice < 2; twice++) {
        for (const other of basis) addTo(rest, -dot(rest, other), other);
      }
      found.set(node, { mean: mean[node] + dot(row, noise), sd: Math.sqrt(dot(rest, rest)) });
    }
    return { found, wrong, squares: dot(noise, noise) };
  };

  // Edges on active paths from fixed nodes to targets. A state is an edge and a direction; a path
  // goes on from it as d-separation allows, never straight back.
  const carriers = (edges, seen, set, targets) => {
    const fixed = new Set([...seen.keys(), ...set.keys()]);
    const alive = edges.filter(({ to, value }) => value !== 0 && !set.has(to));
    const into = new Map(), out = new Map();
    const list = (map, key) => map.get(key) ?? map.set(key, []).get(key);
    for (const edge of alive) {
      list(into, edge.to).push(edge);
      list(out, edge.from).push(edge);
    }
    const opening = new Set();
    const waiting = [...seen.keys()];
    while (waiting.length) {
      const node = waiting.pop();
      if (opening.has(node)) continue;
      opening.add(node);
      for (const edge of list(into, node)) waiting.push(edge.from);
    }
    const up = (edge) => ({ edge, down: false, end: edge.from, id: 2 * edge.id });
    const down = (edge) => ({ edge, down: true, end: edge.to, id: 2 * edge.id + 1 });
    const next = ({ edge, down: came, end }) => {
      const steps = [];
      if (!fixed.has(end)) for (const other of list(out, end)) steps.push(down(other));
      if (came ? opening.has(end) : !fixed.has(end)) {
        for (const other of list(into, end)) steps.push(up(other));
      }
      return steps.filter((step) => step.edge !== edge);
    };
    const reached = new Map(), before = new Map();
    const queue = [];
    for (const node of fixed) {
      for (const edge of list(out, node)) queue.push(down(edge));
      for (const edge of list(into, node)) queue.push(up(edge));
    }
    while (queue.length) {
      const state = queue.pop();
      if (reached.has(state.id)) continue;
      reached.set(state.id, state);
      for (const step of next(state)) {
        list(before, step.id).push(state);
        queue.push(step);
      }
    }
    const lit = new Set(), done = new Set();
    const back = [...reached.values()].filter(({ end }) => targets.has(end) && !fixed.has(end));
    while (back.length) {
      const state = back.pop();
      if (done.has(state.id)) continue;
      done.add(state.id);
      lit.add(state.edge.id);
      back.push(...list(before, state.id));
    }
    return lit;
  };

  // Directed paths from a node to another that pass no fixed node, up to `most` and one more.
  const paths = (edges, start, stop, fixed, most) => {
    const out = new Map(), leads = new Set([stop]);
    // Against the topological order, so that what a node leads to is known before the node.
    for (const edge of [...edges].sort((a, b) => b.from - a.from)) {
      if (fixed.has(edge.to) || edge.value === 0 || !leads.has(edge.to)) continue;
      leads.add(edge.from);
      (out.get(edge.from) ?? out.set(edge.from, []).get(edge.from)).push(edge);
    }
    const found = [];
    const walk = (nodes, product) => {
      if (found.length > most) return;
      const last = nodes[nodes.length - 1];
      if (last === stop) {
        found.push({ nodes: [...nodes], effect: product });
        return;
      }
      for (const { to, value } of out.get(last) ?? []) walk([...nodes, to], product * value);
    };
    walk([start], 1);
    return found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  };

  return { answer, carriers, paths };
};
