// Keys for an input field or the focused button are not handled. A button clicked with the mouse loses the focus.
document.addEventListener('keydown', (e) => {
  const at = e.target instanceof Element ? e.target : document.body;
  if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, .q-slider, .q-menu, .q-dialog')) return;
  if ((e.key === 'Enter' || e.key === ' ') && at.closest('button, a, [role=button]')) return;
  if (!/^(Arrow(Up|Down|Left|Right)|Enter|[ aAuUwWpP\[\]])$/.test(e.key)) return;
  e.preventDefault();
  emitEvent('dp-key', {key: e.key, board: !!at.closest('.dp-board')});
});
document.addEventListener('click', (e) => {
  if (e.detail && e.target.closest('.dp button')) document.activeElement.blur();
});
// The unit under the mouse, or an empty text.
window.emitHoveredUnit = (e, emit) => {
  if (e.pointerType !== 'mouse') return;
  const box = e.currentTarget, at = e.target.closest('[data-id]')?.dataset.id, columns = +box.dataset.columns;
  const cell = at ? +at.split('-')[1] : -1;
  const unit = box.querySelector(`.token[data-at="${cell % columns} ${Math.floor(cell / columns)}"]`)?.dataset.unit;
  if ((unit ?? '') !== (box.looked ?? '')) { box.looked = unit; emit(unit ?? ''); }
};

// The drawing of the units has an invisible rectangle around the action (board.focus). When it changes, the board
// scrolls to it, so that what a person scrolls by hand stays as long as nothing happens. A board on a phone begins
// zoomed in, or its hexes were too small for a finger.
(() => {
  const LEVELS = [1, 1.5, 2, 3], ON_A_PHONE = 2, SMALL = 500, PATIENCE = 1000;
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const board = () => document.querySelector('.dp-pieces')?.closest('.dp-board');
  const set = (value) => {
    level = value;
    document.documentElement.style.setProperty('--dp-zoom', value);
    const shown = document.querySelector('.dp-zoom-level');
    if (shown) shown.textContent = `${100 * value}%`;
  };
  let level = 0, seen = '', arriving = 0;
  const follow = (behavior) => {
    const box = board(), focus = box?.querySelector('.focus')?.getBoundingClientRect();
    clearTimeout(arriving);
    if (!focus) return;
    const view = box.getBoundingClientRect();
    const isVisible = focus.left >= view.left && focus.right <= view.left + box.clientWidth
      && focus.top >= view.top && focus.bottom <= view.top + box.clientHeight;
    if (isVisible)  // stop, if it is still on its way to an earlier step
      box.scrollTo({left: box.scrollLeft, top: box.scrollTop, behavior: 'instant'});
    else
      box.scrollTo({
        left: box.scrollLeft + focus.x + focus.width / 2 - view.x - box.clientWidth / 2,
        top: box.scrollTop + focus.y + focus.height / 2 - view.y - box.clientHeight / 2, behavior,
      });
    if (behavior === 'smooth')  // which a busy browser gives up if the board is drawn meanwhile
      arriving = setTimeout(() => follow('instant'), PATIENCE);
  };
  const glide = () => follow(still.matches ? 'instant' : 'smooth');
  const zoom = (by) => {
    const box = board();
    if (!box) return;
    const [x, y] = [(box.scrollLeft + box.clientWidth / 2) / box.scrollWidth,
      (box.scrollTop + box.clientHeight / 2) / box.scrollHeight];
    set(by ? LEVELS[Math.min(Math.max(LEVELS.indexOf(level) + by, 0), LEVELS.length - 1)] : 1);
    box.scrollTo({left: x * box.scrollWidth - box.clientWidth / 2, top: y * box.scrollHeight - box.clientHeight / 2,
      behavior: 'instant'});
    glide();
  };
  const update = () => {
    const box = board();
    if (!box) return;
    if (!level) set(box.clientWidth < SMALL ? ON_A_PHONE : 1);
    const now = box.querySelector('.focus')?.outerHTML ?? '';
    if (now !== seen) { seen = now; glide(); }
  };
  new MutationObserver(update).observe(document.body, {childList: true, subtree: true});
  update();  // on a busy machine the board may be there before this script
  addEventListener('resize', glide);
  for (const hand of ['wheel', 'touchstart', 'pointerdown'])  // of a person who looks elsewhere
    addEventListener(hand, () => clearTimeout(arriving), {passive: true, capture: true});
  addEventListener('click', (e) => {
    const button = e.target.closest?.('[data-zoom]');
    if (button) zoom(+button.dataset.zoom);
  });
  addEventListener('keydown', (e) => {
    const by = {'+': 1, '=': 1, '-': -1, '0': 0}[e.key];
    if (by === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.closest?.('input, textarea, .q-menu, .q-dialog')) return;
    e.preventDefault();
    zoom(by);
  });
})()
