"use strict";
// A click on a layout's picture opens its page within this one, and the next click closes it.
document.addEventListener("click", event => {
  const link = event.target.closest("a.live");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const box = link.parentElement, isOpen = link.ariaExpanded === "true";
  box.querySelectorAll("iframe").forEach(frame => frame.remove());
  box.querySelectorAll("a.live").forEach(each => { each.ariaExpanded = "false"; });
  if (isOpen) return;
  const frame = document.createElement("iframe");
  frame.src = link.href;
  frame.title = link.querySelector("img").alt;
  link.ariaExpanded = "true";
  box.querySelector("a.live:last-of-type").after(frame);
});

// What the theme leaves out: the level of its captions, and a way to scroll by keys.
for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.ariaLevel = 2;
for (const box of document.querySelectorAll("pre, .table-wrapper, article p"))
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
document.querySelectorAll("aside").forEach((each, k) => {
  each.ariaLabel = ["Pages", "On this page"][k] ?? `Side bar ${k + 1}`;
});
