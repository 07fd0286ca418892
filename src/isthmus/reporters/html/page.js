"use strict";
// Hover and keyboard of plots; order of tables. The page reads without it.
(() => {
  const tip = document.getElementById("tip");
  const reach = 40;

  function middle(mark) {
    const box = mark.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }

  function show(canvas, mark) {
    canvas.querySelector(".at")?.classList.remove("at");
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("at");
    tip.textContent = mark.dataset.t;
    const [x, y] = middle(mark);
    const left = Math.max(4, Math.min(x + 10, innerWidth - tip.offsetWidth - 12));
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${Math.max(0, y - tip.offsetHeight - 10) + scrollY}px`;
  }

  for (const canvas of document.querySelectorAll(".canvas")) {
    const marks = () => [...canvas.querySelectorAll("[data-t]")].filter((m) => m.getClientRects().length);
    canvas.addEventListener("pointermove", ({ clientX, clientY, target }) => {
      const far = (mark) => Math.hypot(...middle(mark).map((v, i) => v - [clientX, clientY][i]));
      const near = marks().reduce((a, b) => (a && far(a) <= far(b) ? a : b), null);
      show(canvas, target.dataset.t ? target : near && far(near) < reach ? near : null);
    });
    canvas.addEventListener("pointerleave", () => show(canvas, null));
    canvas.addEventListener("blur", () => show(canvas, null));
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return show(canvas, null);
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = marks();
      const next = all.indexOf(canvas.querySelector(".at")) + step;
      show(canvas, all[(next + all.length) % all.length]);
    });
  }

  const units = {
    ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9,
    Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3,
  };
  function value(text) {
    const found = /^([+-]?[\d.]+) ?(\S*)/.exec(text);
    return found ? found[1] * (units[found[2]] ?? 1) : text ? NaN : -Infinity;
  }
  function compare(a, b) {
    const [x, y] = [value(a), value(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y || 0;
  }
  for (const th of document.querySelectorAll("thead th")) {
    const button = document.createElement("button");
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener("click", () => {
      const order = th.ariaSort === "ascending" ? "descending" : "ascending";
      for (const other of th.parentElement.children) other.ariaSort = null;
      th.ariaSort = order;
      const body = th.closest("table").tBodies[0];
      const text = (row) => row.cells[th.cellIndex].textContent;
      const rows = [...body.rows].sort((a, b) => compare(text(a), text(b)));
      body.append(...(order === "ascending" ? rows : rows.reverse()));
    });
  }
})();
