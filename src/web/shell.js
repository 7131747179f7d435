// A clicked button loses the focus, so that keys go to the board.
addEventListener('click', e => e.detail && e.target.closest('button')?.blur());
// Back and Forward show the game of their address.
addEventListener('popstate', () => location.hash || location.reload());
// Keys do not reach the board behind an open dialog.
document.body.addEventListener('keydown', e => {
  if (e.key !== 'Escape' && document.querySelector('.q-dialog')) e.stopPropagation();
});
// The part of a drawing that was clicked last shakes when it is refused.
addEventListener('pointerdown', e => { window.picked = e.target.closest?.('[data-id]')?.dataset.id; }, true);
window.sound = kind => {
  if (localStorage.getItem('sound') !== 'on') return;
  const audio = window.audio ??= new AudioContext();
  ({move: [440], won: [523, 659, 784], lost: [392, 330, 262], even: [440, 440]})[kind].forEach((pitch, index) => {
    const tone = audio.createOscillator(), volume = audio.createGain(), at = audio.currentTime + .12 * index;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(.08, at);
    volume.gain.exponentialRampToValueAtTime(.0001, at + .15);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + .15);
  });
};
// Browsers copy on secure pages only, such as those of HTTPS and of localhost.
window.copyText = async words => {
  try {
    await navigator.clipboard.writeText(words);
    Quasar.Notify.create({message: 'copied', position: 'top', timeout: 1500});
  } catch {
    const message = `This browser does not let the page copy. Copy it here: ${words}`;
    Quasar.Notify.create({message, position: 'top', timeout: 0, multiLine: true, closeBtn: 'ok'});
  }
};
window.shakePicked = () => {
  const part = window.picked && document.querySelector(`[data-id="${CSS.escape(window.picked)}"]`);
  if (!part) return;
  part.classList.add('shake');
  setTimeout(() => part.classList.remove('shake'), 400);
};
window.showSound = () => {
  const on = localStorage.getItem('sound') === 'on';
  document.body.classList.toggle('sound-on', on);
  document.querySelector('.lab-sound')?.setAttribute('aria-pressed', on);
};
window.toggleSound = () => {
  localStorage.setItem('sound', localStorage.getItem('sound') === 'on' ? 'off' : 'on');
  showSound();
  sound('move');
};
addEventListener('load', () => setTimeout(showSound));
// Drawings have one listener each: clickable parts have a data-id. A long press counts as a right click; the click and
// the context menu that browsers generate from it are suppressed.
window.clickable = {
  part: e => e.target.closest('[data-id]'),
  click(e, emit) {
    const part = this.part(e), box = e.currentTarget;
    if (box.held) { box.held = false; return; }
    if (part) emit(part.dataset.id, 'left');
  },
  menu(e, emit) {
    const part = this.part(e);
    e.preventDefault();
    if (part && e.currentTarget.pointer !== 'touch') emit(part.dataset.id, 'right');
  },
  down(e, emit) {
    const part = this.part(e), box = e.currentTarget;
    box.pointer = e.pointerType;
    box.held = false;
    clearTimeout(box.timer);
    if (part && e.pointerType === 'touch')
      box.timer = setTimeout(() => { box.held = true; emit(part.dataset.id, 'right'); }, 400);
  },
  // Arrow keys go to the nearest part in their direction, Enter and space press it, F is a right click. The keys of a
  // focused part do not reach the page.
  key(e, emit) {
    const part = this.part(e), box = e.currentTarget;
    if (!part || e.ctrlKey || e.altKey || e.metaKey || part.tagName === 'BUTTON') return;
    const way = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[e.key];
    const button = {Enter: 'left', ' ': 'left', f: 'right', F: 'right'}[e.key];
    if (!way && (!button || e.repeat)) return;
    e.preventDefault();
    e.stopPropagation();
    if (button) { window.picked = part.dataset.id; emit(part.dataset.id, button); return; }
    const center = one => { const r = one.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
    const [x, y] = center(part);
    let best = null, least = Infinity;
    for (const other of box.querySelectorAll('[data-id][tabindex]')) {
      const [ox, oy] = center(other), along = (ox - x) * way[0] + (oy - y) * way[1];
      const distance = along + 3 * Math.abs((ox - x) * way[1] + (oy - y) * way[0]);
      if (along > 1 && distance < least) { best = other; least = distance; }
    }
    best?.focus();
  },
  // A part that is drawn again keeps the focus, and only what has changed is sent.
  patch(box, changes) {
    const focused = document.activeElement?.dataset?.id;
    for (const [key, text] of changes) {
      const part = box.querySelector(`[data-id="${CSS.escape(key)}"], [data-part="${CSS.escape(key)}"]`);
      if (part) part.outerHTML = text;
    }
    if (focused && document.activeElement === document.body)
      box.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  },
};
// Keys belong to the board: Chromium's smooth scrolling would still move the page during a click that follows.
window.preventScrolling = (keys, ignored) => addEventListener('keydown', e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === ' ' ? e.target === document.body : keys.includes(e.key) && !e.target.closest?.(ignored))
    e.preventDefault();
});
// The browser remembers that the rules of a page were offered.
window.offerRules = path => {
  const box = document.querySelector('.lab-offer'), key = 'rules:' + path;
  if (box && !localStorage.getItem(key)) box.classList.add('on');
  document.addEventListener('click', e => { if (e.target.closest('.lab-offer button, .lab-rules')) {
    localStorage.setItem(key, 'seen'); box?.classList.remove('on'); } });
};
