// Sends codes one after another without leaving the page, and reads them with the camera where the browser can.
"use strict";

(() => {
  const SAME_CODE_AGAIN_MS = 4000;
  const LOOK_EVERY_MS = 200;
  let sent = Promise.resolve();

  const say = (headline, reason) => {
    const verdict = document.getElementById("verdict");
    verdict.className = "bad";
    const strong = document.createElement("strong");
    const span = document.createElement("span");
    strong.textContent = headline;
    span.textContent = reason;
    verdict.replaceChildren(strong, span);
  };

  const send = async (form, code) => {
    const body = new FormData(form);
    body.set("token", code);
    const answer = await fetch(form.action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.querySelector("#verdict > *")) {
      location.reload(); // logged out, or in another tenant by now
      return;
    }
    for (const id of ["verdict", "count"]) {
      const told = page.getElementById(id);
      if (told) document.getElementById(id).replaceWith(told);
    }
    navigator.vibrate?.(document.querySelector("#verdict.good") ? 80 : [200, 100, 200]);
  };

  const queue = (form, code) => {
    sent = sent.then(() => send(form, code)).catch(() => say("Not sent", "No answer: scan it once more."));
    return sent;
  };

  const look = async (form, camera) => {
    const detector = new BarcodeDetector({ formats: ["qr_code"] });
    let seen = "";
    let seenAt = 0;
    for (;;) {
      const [code] = await detector.detect(camera).catch(() => []);
      const now = performance.now();
      if (code && (code.rawValue !== seen || now - seenAt > SAME_CODE_AGAIN_MS)) {
        seen = code.rawValue;
        await queue(form, seen);
      }
      if (code && code.rawValue === seen) seenAt = performance.now(); // still in view: not meant again
      await new Promise((resume) => setTimeout(resume, LOOK_EVERY_MS));
    }
  };

  const open = async (form, button, camera) => {
    button.disabled = true;
    try {
      camera.srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
      camera.hidden = false;
      await camera.play();
    } catch {
      button.disabled = false;
      say("No camera", "The browser was not allowed to use it. Type the code, or use a scanner.");
      return;
    }
    button.hidden = true;
    document.getElementById("code").blur(); // a phone's keyboard would cover it
    look(form, camera);
  };

  document.addEventListener("DOMContentLoaded", async () => {
    const form = document.getElementById("scan-form");
    if (!form) return;
    const field = document.getElementById("code");
    field.focus(); // browsers give a page that a form has led to no focus of its own accord
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const code = field.value.trim();
      field.value = "";
      field.focus();
      if (code) queue(form, code);
    });
    const formats = "BarcodeDetector" in window ? await BarcodeDetector.getSupportedFormats() : [];
    if (!formats.includes("qr_code") || !navigator.mediaDevices) return;
    const button = document.getElementById("camera-button");
    button.hidden = false;
    button.addEventListener("click", () => open(form, button, document.getElementById("camera")));
  });
})();
