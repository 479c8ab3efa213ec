// The table of an experiment: sorted by any column, with the columns that the reader wants.

const GROUPS = [["score", "Scores and intervals"], ["cost", "Time and memory"], ["level", "Coverage by level"]];

/** What a row is sorted by: lower is better, so a target counts by its distance; without a value comes last. */
function sortValue(model, name) {
  if (name === "model") return model.label.toLowerCase();
  if (name === "runs") return -model.done;
  const { mean, n } = model.stats[name];
  if (!n || mean === null) return Infinity;
  const { target } = QUANTITIES.get(name);
  return target === null ? mean : Math.abs(mean - target);
}

/** Models in the order of a choice such as `msll`, `-msll` for the other way round, or `plan`. */
function sorted(models, choice) {
  const name = choice.replace(/^-/, "");
  if (name !== "model" && name !== "runs" && !QUANTITIES.has(name)) return [...models];
  const way = choice.startsWith("-") ? -1 : 1;
  const keyed = models.map((model, place) => [sortValue(model, name), place, model]);
  const missing = (value) => value === Infinity;
  keyed.sort(([a, i], [b, j]) => {
    if (missing(a) !== missing(b)) return missing(a) ? 1 : -1;
    if (a < b) return -way;
    return a > b ? way : i - j;
  });
  return keyed.map(([, , model]) => model);
}

function modelTable(view) {
  const { choices } = view;
  const head = el("tr");
  const body = el("tbody");
  const caption = el("caption", null, "");
  const table = el("table", { class: "sortable" }, caption, el("thead", null, head), body);
  const rows = new Map();
  let fewer = 0;
  const columns = () => (choices.list("columns") || defaultColumns(view.experiment, fewer)).filter((name) => QUANTITIES.has(name));
  const build = () => {
    head.replaceChildren(...["model", "runs", ...columns()].map((name) => heading(name, choices)));
    rows.clear();
    for (const model of view.models) rows.set(model.label, tableRow(view, model, columns()));
  };
  const order = () => {
    const sort = choices.get("sort");
    body.replaceChildren(...view.ranked().map((model) => rows.get(model.label)));
    for (const cell of head.children) {
      const way = cell.dataset.name === sort ? "ascending" : cell.dataset.name === sort.replace(/^-/, "") ? "descending" : null;
      if (way) cell.setAttribute("aria-sort", way);
      else cell.removeAttribute("aria-sort");
    }
    caption.textContent = said(sort);
  };
  const room = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Scores of ${view.name}` }, table);
  const lay = (less) => {
    fewer = less;
    build();
    order();
  };
  /** Deviations go below means where there is no room beside them; then the columns least asked for are left out. */
  const fit = () => {
    const isWide = () => table.offsetWidth > room.clientWidth;
    table.classList.remove("tight");
    if (fewer) lay(0);
    table.classList.toggle("tight", isWide());
    while (!choices.list("columns") && columns().length > 1 && isWide()) lay(fewer + 1);
  };
  const fitted = whenSized(room, fit);
  return {
    place: el("div", null, tableTools(view, columns), room),
    update(key) {
      if (key === null || key === "columns") build();
      if (key === null || key === "sort" || key === "columns" || key === "hide" || key === "filter") order();
      if (key === null || key === "columns" || key === "hide" || key === "filter") fitted();
    },
  };
}

function said(sort) {
  const name = sort.replace(/^-/, "");
  const quantity = QUANTITIES.get(name);
  const what = quantity ? quantity.title : name === "model" ? "name" : name === "runs" ? "finished runs" : "";
  if (!what) return "In the order of the plan. Values are mean ± standard deviation over seeds.";
  const first = sort.startsWith("-") ? "last first" : quantity && quantity.direction !== "none" ? "best first" : "first to last";
  return `By ${what}, ${first}. Values are mean ± standard deviation over seeds.`;
}

/** A heading that sorts: once, the other way round, and back to the order of the plan. */
function heading(name, choices) {
  const quantity = QUANTITIES.get(name);
  const next = () => {
    const now = choices.get("sort");
    choices.set("sort", now === name ? `-${name}` : now === `-${name}` ? "plan" : name);
  };
  return el("th", { scope: "col", "data-name": name, class: quantity || name === "runs" ? "number" : null },
    button(quantity ? quantity.title : name, next, { class: "sorter" }));
}

function tableRow(view, model, columns) {
  const best = new Set(model.best);
  const signs = signsOf(model);
  const name = el("th", { scope: "row" }, swatch(model.label),
    button(model.label, () => view.choices.set("open", model.label), { class: "name", title: "details of this model" }),
    signs && el("span", { class: "flag", title: model.flags.join(", ") }, ` ${signs}`));
  const counted = el("td", { class: `number${model.done < model.planned ? " short" : ""}` }, `${model.done}/${model.planned}`);
  return el("tr", { "data-label": model.label, ...view.lighting(model.label) }, name, counted, columns.map((column) => {
    const [mean, sd] = meanSd(model.stats[column], QUANTITIES.get(column));
    return el("td", { class: `number${best.has(column) ? " best" : ""}` },
      el("span", null, mean), sd && el("span", { class: "sd" }, ` ± ${sd}`));
  }));
}

/** Which columns, and the table and the data as files. */
function tableTools(view, columns) {
  const { choices } = view;
  const boxes = el("div", { class: "columns" });
  const list = () => GROUPS.map(([group, words]) => el("fieldset", null, el("legend", null, words),
    LOOKS.quantities.filter((quantity) => quantity.group === group).map((quantity) => (
      checkbox(quantity.title, columns().includes(quantity.name), (on) => {
        const now = new Set(columns());
        if (on) now.add(quantity.name);
        else now.delete(quantity.name);
        choices.set("columns", LOOKS.quantities.map((each) => each.name).filter((each) => now.has(each)));
      })))));
  const details = el("details", { class: "panel", toggle: () => boxes.replaceChildren(...list().flat()) },
    el("summary", null, "Columns"), boxes);
  return el("div", { class: "tools" }, details,
    button("CSV", () => download(`${view.name}.csv`, "text/csv", csv(view, columns())),
      { title: "the rows and columns of this table, in full precision" }),
    button("JSON", () => download("report.json", "application/json", document.getElementById("data").textContent),
      { title: "everything on this page, as --format json writes it" }),
    button("copy link", (event) => copyLink(event.target), { title: "the address of this page as you see it now" }),
    button("reset", () => choices.reset(), { title: "back to how the page opened" }));
}

/** The table as it is seen, with the names that summary.csv has. */
function csv(view, columns) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = columns.flatMap((name) => [`${name}_mean`, `${name}_sd`, `${name}_n`]);
  const lines = view.ranked().map((model) => [view.name, model.label, model.model, model.done, model.planned,
    model.flags.join("; "), ...columns.flatMap((name) => {
      const { mean, sd, n } = model.stats[name];
      return [mean, sd, n];
    })]);
  const head = ["experiment", "label", "model", "runs", "planned", "flags", ...names];
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\n`).join("");
}

async function copyLink(from) {
  const words = from.textContent;
  const address = location.href.split("#")[0] + fragment(VIEWS);
  try {
    await navigator.clipboard.writeText(address);
    from.textContent = "copied";
  } catch { // no clipboard for this page: the address bar says the same
    from.textContent = "see the address bar";
  }
  setTimeout(() => { from.textContent = words; }, 1500);
}
