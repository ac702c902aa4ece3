"use strict";
// A drawing that wheel and buttons zoom, drag moves, and keys do both.
const makeMovable = (picture) => {
  const drawn = picture.dataset.box.split(" ").map(Number);
  let whole = [...drawn];
  let box = [...drawn];
  let drag = null;
  const show = () => picture.setAttribute("viewBox", box.map((side) => side.toFixed(1)).join(" "));
  const clamp = () => {
    for (const side of [0, 1]) {
      const most = whole[side] + whole[side + 2] - box[side + 2];
      box[side] = Math.min(Math.max(box[side], whole[side]), most);
    }
    show();
  };
  const zoom = (factor, x = box[0] + box[2] / 2, y = box[1] + box[3] / 2) => {
    const width = Math.min(Math.max(box[2] * factor, whole[2] / 40), whole[2]);
    const ratio = width / box[2];
    box = [x - (x - box[0]) * ratio, y - (y - box[1]) * ratio, width, box[3] * ratio];
    clamp();
  };
  const reset = () => { box = [...whole]; show(); };
  // The whole is the drawing, and what of the frame it leaves free at its sides.
  const fill = () => {
    const { width, height } = picture.getBoundingClientRect();
    const ratio = (width / height) * (drawn[3] / drawn[2]);
    if (!(ratio > 0) || Math.abs(ratio - 1) < 0.02) return;
    const [more, side] = ratio > 1 ? [drawn[2] * (ratio - 1), 0] : [drawn[3] * (1 / ratio - 1), 1];
    whole = [...drawn];
    whole[side] -= more / 2;
    whole[side + 2] += more;
    reset();
  };
  addEventListener("resize", fill);
  const pointOf = (event) => {
    const frame = picture.getBoundingClientRect();
    return [
      box[0] + ((event.clientX - frame.left) / frame.width) * box[2],
      box[1] + ((event.clientY - frame.top) / frame.height) * box[3],
    ];
  };
  picture.addEventListener("wheel", (event) => {
    const chosen = picture.contains(document.activeElement);
    if (!event.ctrlKey && !event.metaKey && !chosen) return;
    event.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), ...pointOf(event));
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    drag = { at: [event.clientX, event.clientY], box: [...box], moving: false };
  });
  // The window hears of moves and of the end also outside of the picture.
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = [event.clientX - drag.at[0], event.clientY - drag.at[1]];
    if (!drag.moving && Math.hypot(x, y) < 4) return; // a click
    drag.moving = true;
    picture.classList.add("moving");
    const frame = picture.getBoundingClientRect();
    box[0] = drag.box[0] - (x / frame.width) * box[2];
    box[1] = drag.box[1] - (y / frame.height) * box[3];
    clamp();
  });
  let moved = false;
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, () => {
      moved = drag?.moving ?? false;
      drag = null;
      picture.classList.remove("moving");
    });
  }
  picture.addEventListener("click", (event) => { // the end of a move is none
    if (moved) event.stopImmediatePropagation();
    moved = false;
  }, { capture: true });
  const ways = { in: () => zoom(1 / 1.4), out: () => zoom(1.4), all: reset };
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", ways[button.dataset.zoom]);
  }
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "+" || event.key === "=") zoom(1 / 1.4);
    else if (event.key === "-") zoom(1.4);
    else if (event.key === "0") reset();
    else if (event.key in step && event.target === picture && box[2] < whole[2]) {
      box[0] += step[event.key][0] * box[2] * 0.1;
      box[1] += step[event.key][1] * box[3] * 0.1;
      clamp();
    } else return;
    event.preventDefault();
  });
  addEventListener("beforeprint", reset);
  fill();
  // Show a part of the picture, so wide at most.
  const centre = ({ x, y, width, height }) => {
    const size = Math.min(whole[2], Math.max(520, 6 * width));
    box = [x + width / 2 - size / 2, 0, size, (size * whole[3]) / whole[2]];
    box[1] = y + height / 2 - box[3] / 2;
    clamp();
  };
  // Bring a part into view without zooming.
  const include = ({ x, y, width, height }) => {
    const inside = x >= box[0] && y >= box[1] && x + width <= box[0] + box[2]
      && y + height <= box[1] + box[3];
    if (inside) return;
    box[0] = x + width / 2 - box[2] / 2;
    box[1] = y + height / 2 - box[3] / 2;
    clamp();
  };
  return { isHeld: () => drag !== null, centre, include };
};
