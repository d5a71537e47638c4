// Counts down what the server said was left, by a clock that nobody sets: the wall clock of a browser may be wrong.
"use strict";

(() => {
  const began = performance.now();

  const show = (element) => {
    const left = Number(element.dataset.secondsLeft) - (performance.now() - began) / 1000;
    const seconds = Math.max(0, Math.floor(left));
    element.textContent =
      left > 0 ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` : "over";
  };

  const showAll = () => document.querySelectorAll("[data-seconds-left]").forEach(show);

  document.addEventListener("DOMContentLoaded", () => {
    showAll();
    setInterval(showAll, 1000);
  });
})();
