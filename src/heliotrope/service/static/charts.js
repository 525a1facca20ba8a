// The plotting library with the page's theme and fonts.

const MARGIN = { l: 56, r: 12, t: 12, b: 48 };
const isTouch = matchMedia("(pointer: coarse)");

let library = null;

/** The library, loaded for the first chart. */
function plotly() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("The plotting library did not load."));
    document.head.append(script);
  });
  return library;
}

/** Escape a text: the library would interpret markup and templates in it. */
export const plain = (text) =>
  String(text).replace(/[&<>%]/g, (sign) => `&#${sign.codePointAt(0)};`);

/** A long text without its middle: names often differ at their ends. */
export function shortened(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
}

/** The colours of the current theme, by their names in the style sheet. */
export function palette() {
  const probe = document.body.appendChild(document.createElement("i"));
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["card", "ink", "faint", "line", "blue", "orange", "danger", "veil"];
  const colours = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  return colours;
}

/** The same colour, transparent. */
export const faded = (rgb, alpha) => rgb.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);

const shown = new WeakMap(); // the figure of each plot, and the width that it was drawn for

/** Draw a figure {traces, layout, label, height?}; an existing chart of this width is updated. */
export async function draw(plot, figure) {
  const { traces, layout, label, height } = figure;
  const library = await plotly();
  plot.style.height = height ? `${height}px` : "";
  plot.querySelector(":scope > .faint")?.remove();
  describe(plot, label, true);
  const width = plot.clientWidth;
  // draw a new chart after a resize: the old one keeps its margins and colour bar
  if (plot.data && shown.get(plot)?.width !== width) library.purge(plot);
  shown.set(plot, { figure, width });
  await library.react(plot, traces, dressed(layout), { displayModeBar: false });
  resizes.observe(plot);
}

const resizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const known = shown.get(target);
    if (known && target.data && target.clientWidth && known.width !== target.clientWidth) draw(target, known.figure);
  }
});

/** Show words instead of a chart. */
export async function drawNothing(plot, words) {
  if (plot.data) (await plotly()).purge(plot);
  shown.delete(plot);
  const text = document.createElement("p");
  text.className = "faint";
  text.textContent = words;
  plot.style.height = "";
  plot.replaceChildren(text);
  describe(plot, words, false);
}

function describe(plot, label, isPicture) {
  plot.setAttribute("aria-label", label);
  for (const save of document.querySelectorAll(`[data-pictures="${plot.id}"] [data-format]`)) {
    save.disabled = !isPicture;
  }
}

export async function savePicture(plot, format, filename) {
  const { clientWidth: width, clientHeight: height } = plot;
  await (await plotly()).downloadImage(plot, { format, filename, width, height, scale: 2 });
}

function dressed(layout) {
  const colours = palette();
  const axis = {
    color: colours.faint,
    gridcolor: colours.line,
    linecolor: colours.line,
    zeroline: false,
    automargin: true,
    exponentformat: "power",
    fixedrange: isTouch.matches, // dragging a finger scrolls the page
  };
  const axes = Object.entries(layout).filter(([name]) => /^[xy]axis/.test(name));
  return {
    autosize: true,
    margin: MARGIN,
    paper_bgcolor: colours.card,
    plot_bgcolor: colours.card,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colours.ink },
    hoverlabel: { align: "left", bgcolor: colours.card, bordercolor: colours.line, font: { color: colours.ink } },
    hovermode: "closest",
    dragmode: isTouch.matches ? false : "zoom",
    showlegend: false,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: colours.faint } },
    uirevision: "kept", // an update keeps the zoom
    ...layout,
    ...Object.fromEntries(axes.map(([name, own]) => [name, { ...axis, ...own, title: { standoff: 8, ...own.title } }])),
  };
}
