// Models over several experiments: one score, a column for each, and the mean rank.

function acrossTable(views, place) {
  const counts = new Map();
  for (const view of views) {
    for (const model of view.models) counts.set(model.label, (counts.get(model.label) || 0) + 1);
  }
  const labels = [...counts].filter(([, count]) => count > 1).map(([label]) => label);
  if (!labels.length) return;
  let [name, sort] = ["msll", "rank"];
  const table = el("table", { class: "sortable" });
  const draw = () => {
    const lines = ranked(views, labels, name);
    const way = sort.startsWith("-") ? -1 : 1;
    const key = sort.replace(/^-/, "");
    const value = (line) => (key === "rank" ? line.rank : key === "model" ? line.label.toLowerCase() : line.cells.get(key)?.value ?? Infinity);
    lines.sort((a, b) => ((value(a) > value(b)) - (value(a) < value(b))) * way);
    const headings = [["model", "model"], ["rank", "mean rank"], ...views.map((view) => [view.name, view.name])];
    table.replaceChildren(el("thead", null, el("tr", null, headings.map(([id, words]) => el("th", { scope: "col",
      class: id === "model" ? null : "number", "aria-sort": id === key ? (way > 0 ? "ascending" : "descending") : null },
      button(words, () => {
        sort = sort === id ? `-${id}` : id;
        draw();
      }, { class: "sorter" }))))), el("tbody", null, lines.map((line) => acrossRow(views, line, name))));
  };
  const options = LOOKS.quantities.filter((each) => each.group !== "level" && each.direction !== "none").map((each) => [each.name, each.title]);
  place.append(el("section", null, el("h2", null, "Across experiments"),
    el("div", { class: "tools" }, choice("compare", options, name, (value) => {
      name = value;
      draw();
    })),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Models across experiments" }, table),
    el("p", { class: "notes" }, "Ranks are among the models of this table that have a score in an experiment; the mean is over "
      + "these experiments, and a model that lacks some of them is marked by how many it has.")));
  draw();
}

/** Each label with its cell and rank in every experiment. */
function ranked(views, labels, name) {
  const lines = new Map(labels.map((label) => [label, { label, cells: new Map(), ranks: [] }]));
  for (const view of views) {
    const present = labels.filter((label) => view.byLabel.has(label))
      .map((label) => ({ label, model: view.byLabel.get(label), value: sortValue(view.byLabel.get(label), name) }));
    present.sort((a, b) => a.value - b.value || 0);
    present.forEach((cell, place) => {
      const line = lines.get(cell.label);
      line.cells.set(view.name, cell);
      if (cell.value !== Infinity) line.ranks.push(place + 1);
    });
  }
  const mean = (ranks) => (ranks.length ? ranks.reduce((sum, rank) => sum + rank, 0) / ranks.length : Infinity);
  return [...lines.values()].map((line) => ({ ...line, rank: mean(line.ranks) }));
}

function acrossRow(views, line, name) {
  const short = line.ranks.length < views.length ? ` (${line.ranks.length} of ${views.length})` : "";
  return el("tr", null, el("th", { scope: "row" }, swatch(line.label), line.label),
    el("td", { class: "number" }, `${line.rank === Infinity ? "–" : plain(line.rank, 3)}${short}`),
    views.map((view) => {
      const cell = line.cells.get(view.name);
      if (!cell) return el("td", { class: "number" }, "–");
      const [mean, sd] = meanSd(cell.model.stats[name], QUANTITIES.get(name));
      return el("td", { class: `number${cell.model.best.includes(name) ? " best" : ""}` },
        signsOf(cell.model) && el("span", { class: "flag", title: cell.model.flags.join(", ") }, `${signsOf(cell.model)} `),
        el("span", null, mean), sd && el("span", { class: "sd" }, ` ± ${sd}`));
    }));
}
