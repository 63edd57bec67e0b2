"use strict";
for (const figure of document.querySelectorAll("figure.chart")) {
  const svg = figure.querySelector("svg"), told = JSON.parse(figure.dataset.chart);
  const data = svg.querySelector("g.data"), ticks = svg.querySelector("g.ticks.x");
  const whole = ticks.innerHTML, [low, high, left, right] = told.x;
  const inner = v => told.logX ? Math.log10(v) : v, outer = v => told.logX ? 10 ** v : v;
  let from = inner(low), to = inner(high), start = null, tip = null, button = null;
  const at = v => left + (inner(v) - from) / (to - from) * (right - left);
  const value = p => outer(from + (p - left) / (right - left) * (to - from));
  const draw = (name, attributes) => {
    const one = document.createElementNS(svg.namespaceURI, name);
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    svg.append(one);
    return one;
  };
  const bottom = told.y[2], top = told.y[3];
  const pointer = draw("line", {class: "pointer", y1: top, y2: bottom, visibility: "hidden"});
  const chosen = draw("rect", {class: "chosen", y: top, height: bottom - top, visibility: "hidden"});
  const short = v => v === null ? "-" : String(+v.toPrecision(4));
  const place = event => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    return Math.min(right, Math.max(left, x));
  };
  const hide = () => {
    pointer.setAttribute("visibility", "hidden");
    if (tip) tip.remove();
    tip = null;
  };
  const show = event => {
    const p = place(event);
    let best = null;
    for (const one of told.series) for (const x of one.x) {
      const far = Math.abs(at(x) - p);
      if (x !== null && at(x) >= left - 1 && at(x) <= right + 1 && (!best || far < best.far)) best = {far, x};
    }
    if (!best) return hide();
    const lines = [];
    for (const one of told.series) one.x.forEach((x, i) => {
      if (x !== best.x || lines.length > 11) return;
      const said = one.y ? short(one.y[i]) : short(one.low[i]) + " to " + short(one.high[i]);
      lines.push(one.name + ": " + said);
    });
    pointer.setAttribute("x1", at(best.x));
    pointer.setAttribute("x2", at(best.x));
    pointer.setAttribute("visibility", "visible");
    if (!tip) { tip = document.createElement("div"); tip.className = "tip"; figure.append(tip); }
    tip.replaceChildren(...[told.xLabel + " " + short(best.x), ...lines].map(text => {
      const line = document.createElement("div");
      line.textContent = text;
      return line;
    }));
    const box = svg.getBoundingClientRect(), outside = figure.getBoundingClientRect();
    const middle = box.left - outside.left + at(best.x) / svg.viewBox.baseVal.width * box.width;
    tip.style.top = box.top - outside.top + 12 + "px";
    const beside = middle + 12 + tip.offsetWidth > outside.width ? middle - 12 - tip.offsetWidth : middle + 12;
    tip.style.left = Math.max(2, beside) + "px";
  };
  const label = () => {
    if (from === inner(low) && to === inner(high)) { ticks.innerHTML = whole; return; }
    const rough = (to - from) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map(s => s * power).find(s => s >= rough);
    const old = ticks.querySelector("text");
    const height = old ? old.getAttribute("y") : bottom + 16;
    ticks.replaceChildren();
    for (let v = Math.ceil(from / step) * step; v <= to + 1e-9 * step; v += step) {
      const p = left + (v - from) / (to - from) * (right - left);
      const line = draw("line", {x1: p, x2: p, y1: bottom, y2: bottom + 4});
      const text = draw("text", {x: p, y: height, "text-anchor": "middle"});
      text.textContent = short(outer(+v.toPrecision(6)));
      ticks.append(line, text);
    }
  };
  const zoom = (a, b) => {
    from = a; to = b;
    const k = (inner(high) - inner(low)) / (to - from);
    const shift = left - k * (left + (from - inner(low)) / (inner(high) - inner(low)) * (right - left));
    data.setAttribute("transform", `translate(${shift} 0) scale(${k} 1)`);
    label();
    const zoomed = k > 1.0001;
    if (zoomed && !button) {
      button = document.createElement("button");
      button.className = "reset"; button.textContent = "show all";
      button.onclick = () => zoom(inner(low), inner(high));
      figure.append(button);
    } else if (!zoomed && button) { button.remove(); button = null; }
  };
  svg.addEventListener("pointermove", event => {
    show(event);
    if (start === null) return;
    const p = place(event);
    chosen.setAttribute("x", Math.min(start, p));
    chosen.setAttribute("width", Math.abs(p - start));
    chosen.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerdown", event => { start = place(event); event.preventDefault(); });
  addEventListener("pointerup", event => {
    if (start === null) return;
    const p = place(event), ends = [Math.min(start, p), Math.max(start, p)];
    start = null;
    chosen.setAttribute("visibility", "hidden");
    if (ends[1] - ends[0] > 8) zoom(inner(value(ends[0])), inner(value(ends[1])));
  });
  svg.addEventListener("dblclick", () => zoom(inner(low), inner(high)));
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointercancel", () => { start = null; chosen.setAttribute("visibility", "hidden"); });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(one => { one.open = true; }));
