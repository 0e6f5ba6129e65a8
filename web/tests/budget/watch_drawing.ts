// Runs in the page: when the last key was pressed, and when what it changed was on screen.

export interface Watch {
  pressed: number; // ms since the navigation began, when Enter was pressed last
  drawn: number; // when the frame with the last change of the document had been drawn
  settled(): boolean; // nothing has changed for a while
}

// Written so that it needs nothing from outside itself: its text is sent to the page.
export function watchDrawing(): void {
  const CALM = 120; // ms
  let changed = 0;
  let waiting = false;
  const watch: Watch = {
    pressed: 0,
    drawn: 0,
    settled: () => !waiting && performance.now() - changed > CALM,
  };
  (globalThis as unknown as { watch: Watch }).watch = watch;
  document.addEventListener("keydown", (event) => event.key === "Enter" && (watch.pressed = event.timeStamp), true);

  // A message sent while a frame is being prepared arrives when it has been drawn.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    watch.drawn = performance.now();
    waiting = false;
  };
  const onChange = () => {
    changed = performance.now();
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => port2.postMessage(null));
  };
  new MutationObserver(onChange).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
}
