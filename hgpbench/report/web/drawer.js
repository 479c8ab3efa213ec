// Everything about one model, in a panel beside the page.

const DASHES = ["none", "6 3", "2 3", "9 3 2 3"];

function drawer(view) {
  const content = el("div", { class: "content" });
  const dialog = el("dialog", { class: "drawer", close: () => view.choices.set("open", ""),
    click: (event) => { if (event.target === dialog) dialog.close(); } }, content);
  document.body.append(dialog);
  return {
    place: null,
    update(key) {
      if (key !== null && key !== "open") return;
      const model = view.byLabel.get(view.choices.get("open"));
      if (!model) {
        if (dialog.open) dialog.close();
        return;
      }
      content.replaceChildren(...contents(view, model, dialog).flat().filter(Boolean));
      dialog.setAttribute("aria-label", `Details of ${model.label}`);
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
    },
  };
}

function contents(view, model, dialog) {
  const runs = view.runs(model.label);
  return [
    el("div", { class: "drawer-head" }, el("h2", null, swatch(model.label), " ", model.label),
      button("close", () => dialog.close(), { class: "close" })),
    el("p", { class: "notes" }, `${model.model}, ${model.done} of ${model.planned} runs done`,
      model.flags.map((flag) => el("span", { class: "flag" }, `; ${SIGNS.get(flag) || ""} ${flag}`))),
    section("Seeds", seedTable(runs)),
    section("Convergence", convergence(view, model, runs)),
    section("Compared with others", comparisons(view, model)),
    section("Parameters", facts(shared(runs.map((run) => run.params)))),
    section("Fit", facts(shared(runs.map((run) => run.fit)))),
    section("Log", logs(runs)),
  ];
}

function section(title, made) {
  return made && [el("h3", null, title), made];
}

function seedTable(runs) {
  const names = ["msll", "smse", "processor_seconds", "fit_seconds"];
  const kept = names.filter((name) => runs.some((run) => isNumber(run[name]))).slice(0, 3);
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Seeds" }, el("table", null,
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "seed"), el("th", { scope: "col" }, "outcome"),
      kept.map((name) => el("th", { scope: "col", class: "number" }, QUANTITIES.get(name).title)))),
    el("tbody", null, runs.map((run) => el("tr", { class: run.status === "done" ? null : "failed" },
      el("th", { scope: "row" }, String(run.seed)),
      el("td", { class: "words" }, outcomeOf(run), el("div", { class: "folder" }, run.folder)),
      kept.map((name) => el("td", { class: "number" }, isNumber(run[name]) ? plain(run[name] * QUANTITIES.get(name).scale) : "–")))))));
}

function outcomeOf(run) {
  if (run.status === "done") return shownValue(run.fit.outcome ?? "done");
  return run.reason ? `${run.status}: ${run.reason}` : run.status;
}

/** What all runs agree on once, and each value where they differ. */
function shared(told) {
  const names = [...new Set(told.flatMap((each) => Object.keys(each)))];
  return names.map((name) => {
    const values = told.filter((each) => name in each).map((each) => shownValue(each[name]));
    const distinct = [...new Set(values)];
    return [name, distinct.length > 4 ? `${distinct.slice(0, 4).join(", ")}, …` : distinct.join(", ")];
  });
}

function shownValue(value) {
  if (value === null || (typeof value === "object" && !Object.keys(value).length)) return "none";
  if (isNumber(value)) return String(value).length <= 8 ? String(value) : plain(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function facts(pairs) {
  return pairs.length ? el("dl", null, pairs.map(([name, value]) => [el("dt", null, name), el("dd", null, value)])) : null;
}

function logs(runs) {
  const told = runs.filter((run) => run.log.length);
  return told.length ? el("div", null, told.map((run) => el("details", { open: run.status !== "done" },
    el("summary", null, `seed ${run.seed}, last lines`), el("pre", { tabindex: 0 }, run.log.join("\n"))))) : null;
}

/** The bound of every run, against iterations or seconds. */
function convergence(view, model, runs) {
  const traced = runs.filter((run) => run.trace);
  if (!traced.length) return null;
  const chart = el("div", { class: "chart" });
  let across = "iteration";
  const draw = () => {
    const series = traced.map((run, i) => ({ label: model.label, words: `seed ${run.seed}`, dashes: DASHES[i % DASHES.length],
      points: run.trace[across].map((x, k) => [x, run.trace.bound[k]]).filter((point) => point.every(isNumber)) }));
    // The first steps say little and reach far below.
    const late = series.flatMap(({ points }) => points.slice(Math.floor(0.1 * points.length)));
    const [xs, ys] = [span(series.flatMap(({ points }) => points.map(([x]) => x)), false, 0.02), span(late.map(([, y]) => y), false)];
    if (!xs || !ys) return;
    curveChart(chart, { xs: { low: xs[0], high: xs[1], title: across === "iteration" ? "iteration" : "time of fit [s]" },
      ys: { low: ys[0], high: ys[1], title: "bound" }, series, height: 240, words: "Convergence",
      format: ([x, y]) => [`${across} ${plain(x, 3)}`, `bound ${plain(y, 6)}`] });
  };
  const redraw = whenSized(chart, draw);
  return el("div", null, el("div", { class: "tools" }, choice("against", [["iteration", "iterations"], ["seconds", "seconds"]], across, (value) => {
    across = value;
    redraw();
  })), chart, el("p", { class: "notes" }, `${dashed(traced)} Bounds of different seeds are of different data.`));
}

/** Which line is which seed's, as long as there are dashes to tell them apart. */
function dashed(traced) {
  if (traced.length < 2 || traced.length > DASHES.length) return "";
  const words = ["full", "dashed", "dotted", "dash and dots"];
  return `${traced.map((run, i) => `Seed ${run.seed}: ${words[i]}`).join("; ")}.`;
}

/** Whom a model beats and who beats it, by the tests of the report. */
function comparisons(view, model) {
  const lines = [];
  for (const metric of new Set(view.experiment.comparisons.map((pair) => pair.metric))) {
    const groups = { "better than": [], "worse than": [], "no difference found from": [] };
    for (const pair of view.experiment.comparisons) {
      if (pair.metric !== metric || pair.p_holm === null || (pair.first !== model.label && pair.second !== model.label)) continue;
      const isFirst = pair.first === model.label;
      const other = isFirst ? pair.second : pair.first;
      const isLower = (pair.difference < 0) === isFirst;
      groups[pair.p_holm > 0.05 ? "no difference found from" : isLower ? "better than" : "worse than"].push(other);
    }
    const said = Object.entries(groups).filter(([, others]) => others.length)
      .map(([words, others]) => `${words} ${others.length > 12 ? `${others.length} models` : others.join(", ")}`);
    if (said.length) lines.push([QUANTITIES.get(metric)?.title ?? metric, said.join("; ")]);
  }
  return facts(lines);
}
