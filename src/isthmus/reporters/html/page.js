"use strict";
// Draws each plot from the specification beside it, in the colours of the page.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function theme(width) {
    const style = getComputedStyle(document.documentElement);
    const [ink, quiet, line] = ["--ink", "--quiet", "--line"].map((name) =>
      style.getPropertyValue(name).trim(),
    );
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      title: { color: ink, anchor: "start", fontWeight: 600 },
      axis: {
        labelColor: quiet,
        titleColor: quiet,
        titleFontWeight: "normal",
        gridColor: line,
        domainColor: line,
        tickColor: line,
      },
      legend: {
        labelColor: ink,
        labelLimit: Math.max(width - 60, 100),
        layout: { bottom: { direction: "vertical" } },
      },
      view: { stroke: line },
    };
  }

  async function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const spec = JSON.parse(figure.querySelector("script").textContent);
    spec.width = "container";
    spec.autosize = { type: "fit-x", contains: "padding" };
    try {
      await window.vegaEmbed(canvas, spec, {
        renderer: "svg",
        actions: false,
        ast: true, // interpreted: the page allows no code from text
        config: theme(canvas.clientWidth),
        tooltip: { theme: dark.matches ? "dark" : "light" },
      });
      figure.dataset.drawn = "yes";
    } catch (error) {
      figure.dataset.drawn = "no";
      canvas.textContent = `This plot could not be drawn: ${error.message}`;
    }
  }

  async function drawAll() {
    for (const figure of document.querySelectorAll("figure[data-plot]")) {
      await draw(figure);
    }
    document.documentElement.dataset.drawn = "yes";
  }

  dark.addEventListener("change", drawAll);
  drawAll();
})();
