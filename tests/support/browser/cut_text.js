// The texts of the page that cannot be read, as sentences: see cut_text.py.
() => {
  const found = [];
  const SLACK = 1.5;
  const up = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const styles = new Map();
  const styleOf = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };
  const titled = (element) => {
    for (let e = element; e; e = up(e)) {
      if (e.title || e.getAttribute?.("aria-describedby") || e.dataset?.tip !== undefined || e.querySelector?.(":scope > title")) return true;
      if (e.matches?.(".area, body")) return false;
    }
    return false;
  };
  const name = (element) => {
    const host = element.getRootNode().host;
    const own = `${element.tagName.toLowerCase()}${[...element.classList].map((c) => `.${c}`).join("")}`;
    const parent = up(element);
    const outer = parent && parent !== host ? `${parent.tagName.toLowerCase()}${[...parent.classList].map((c) => `.${c}`).join("")} > ` : "";
    return `${outer}${own}`;
  };
  const hidden = (element) => {
    for (let e = element; e; e = up(e)) {
      const s = styleOf(e);
      if (s.clipPath !== "none" || s.opacity === "0" || e.hidden) return true;
    }
    return false;
  };
  // A flex or grid container gives the text inside of it no ellipsis.
  const shortens = (s) => s.textOverflow === "ellipsis" && !/flex|grid/.test(s.display);
  // The part of a rectangle that is seen, and whether an ancestor cuts it where nothing scrolls.
  const seen = (rect, element) => {
    let { left, top, right, bottom } = rect;
    let by = null, ellipsis = false, position = "static";
    for (let e = element; e; e = up(e)) {
      const s = styleOf(e);
      const skip = (position === "fixed") || (position === "absolute" && s.position === "static" && s.contain === "none" && s.transform === "none");
      if (!skip && s.display !== "inline" && s.display !== "contents") {
        const x = s.overflowX, y = s.overflowY;
        const paints = /paint|strict|content/.test(s.contain);
        if (x !== "visible" || y !== "visible" || paints) {
          const box = e.getBoundingClientRect();
          const inner = { left: box.left + e.clientLeft, top: box.top + e.clientTop, right: box.right, bottom: box.bottom };
          const root = e === document.documentElement || e === document.body;
          const pans = e.parentElement?.role === "application"; // a drag moves what is inside
          const scrollsX = (pans || /auto|scroll/.test(x)) && !root, scrollsY = (pans || /auto|scroll/.test(y)) && !root;
          if (!root) {
            const overX = left < inner.left - SLACK || right > inner.right + SLACK;
            const overY = top < inner.top - SLACK || bottom > inner.bottom + SLACK;
            if (((overX && !scrollsX) || (overY && !scrollsY)) && !by) { by = e; ellipsis = overX && !scrollsX && shortens(s); }
            left = Math.max(left, inner.left); right = Math.min(right, inner.right);
            top = Math.max(top, inner.top); bottom = Math.min(bottom, inner.bottom);
            // What is scrolled away is no loss.
            if ((right - left < 1 || bottom - top < 1) && !(by === e)) return null;
          }
        }
        if (shortens(s) && s.overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1 && !by) { by = e; ellipsis = true; }
        if (s.webkitLineClamp !== "none" && by === e) ellipsis = true;
      }
      if (s.position !== "static" && !skip) position = s.position;
      if (s.position === "fixed") position = "fixed";
    }
    const page = document.documentElement;
    const pageScrolls = styleOf(page).overflowY !== "hidden";
    if (!by && ((right > innerWidth + SLACK || left < -SLACK) || (!pageScrolls && (bottom > innerHeight + SLACK || top < -SLACK)))) by = page;
    return { left, top, right, bottom, by, ellipsis };
  };
  const texts = [];
  const visit = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === 1) {
        if (node.shadowRoot) visit(node.shadowRoot);
        if (node.matches("button, select, input, a[href]") && node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !hidden(node)) {
          const box = node.getBoundingClientRect();
          const part = seen(box, node);
          if (part?.by && (part.right - part.left < box.width / 2 || part.bottom - part.top < box.height / 2)) {
            found.push(`cut control ${JSON.stringify(node.getAttribute("aria-label") ?? node.textContent.trim().slice(0, 40))} in ${name(node)}, by ${name(part.by)}`);
          }
        }
        const isShort = node.matches(".indices") && innerWidth >= 1280 && node.querySelectorAll("label:not([hidden])").length <= 3;
        if ((isShort || node.matches(".pop, dialog")) && node.clientWidth && node.scrollWidth > node.clientWidth + 1 && /auto|scroll/.test(styleOf(node).overflowX)) {
          found.push(`scrolls sideways: ${name(node)}`);
        }
        if (node.matches("button") && node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).overflowX === "visible" && node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !hidden(node)) {
          found.push(`text wider than its button ${JSON.stringify(node.textContent.trim().slice(0, 40))} in ${name(node)}`);
        }
        if (node.matches("input:not([type=checkbox], [type=radio], [type=range], [type=color])") && node.checkVisibility({ visibilityProperty: true }) && !node.value && node.placeholder) {
          const s = styleOf(node);
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = s.font;
          const room = node.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight);
          if (pen.measureText(node.placeholder).width > room + 1 && !titled(node)) found.push(`cut placeholder ${JSON.stringify(node.placeholder)} in ${name(node)}`);
        }
        continue;
      }
      const element = node.parentElement ?? node.getRootNode().host;
      if (!node.data.trim() || !element || /^(STYLE|SCRIPT|TITLE|DESC|OPTION|TEMPLATE)$/i.test(element.tagName)) continue;
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || hidden(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        if (rect.width < 2 || rect.height < 4) continue;
        const part = seen(rect, element);
        if (!part) continue;
        const text = node.data.trim().slice(0, 60);
        if (part.by && !(part.ellipsis && titled(element))) {
          found.push(`${part.ellipsis ? "ellipsis without a title" : "cut"} ${JSON.stringify(text)} in ${name(element)}, by ${name(part.by)}`);
        }
        const w = part.right - part.left, hgt = part.bottom - part.top;
        if (w > 3 && hgt > 5 && part.left < innerWidth && part.top < innerHeight && part.right > 0 && part.bottom > 0)
          texts.push({ ...part, element, node, text });
      }
    }
  };
  visit(document.body);
  const floating = (element) => {
    for (let e = element; e; e = up(e)) {
      const s = styleOf(e);
      if (e.matches(".area") && s.zIndex !== "auto") return e; // stands over the others
      if (s.position === "fixed" || s.position === "sticky" || e.matches("[popover], dialog, .pop, .doing")) return e;
    }
    return null;
  };
  const deepest = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  };
  const contains = (outer, inner) => { for (let e = inner; e; e = up(e)) if (e === outer) return true; return false; };
  texts.sort((a, b) => a.top - b.top);
  for (let n = 0; n < texts.length; n++) {
    const a = texts[n];
    const x = (a.left + a.right) / 2, y = (a.top + a.bottom) / 2;
    if (x > 0 && y > 0 && x < innerWidth && y < innerHeight) {
      const points = [[Math.max(1, a.left + 2), y], [x, y], [Math.min(innerWidth - 2, a.right - 2), y]];
      for (const [px, py] of points) {
        const hit = deepest(px, py);
        if (!hit || hidden(hit) || contains(hit, a.element) || contains(a.element, hit)) continue;
        if (styleOf(a.element).pointerEvents === "none" || a.element.closest("svg")) continue;
        if (floating(hit) && floating(hit) !== floating(a.element)) continue;
        found.push(`covered ${JSON.stringify(a.text)} of ${name(a.element)} by ${name(hit)}`);
        break;
      }
    }
    for (let m = n + 1; m < texts.length; m++) {
      const b = texts[m];
      if (b.top > a.bottom) break;
      if (a.node === b.node) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide < 2 || high < 4 || floating(a.element) !== floating(b.element)) continue;
      found.push(`overlap ${JSON.stringify(a.text)} of ${name(a.element)} and ${JSON.stringify(b.text)} of ${name(b.element)}`);
    }
  }
  return [...new Set(found)];
}
