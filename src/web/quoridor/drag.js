// A wall is dragged from the rack of the mover: the wall nearest to the pointer is previewed, and placed where it is
// dropped. Dropped off the board, it goes back.
window.wallDrag = {
  take(e) {
    const box = e.currentTarget, svg = box.querySelector('svg');
    if (e.button || !e.target.closest('.rack.own')) return;
    e.preventDefault();
    box.setPointerCapture(e.pointerId);
    box.dragging = true;
    svg.classList.add('dragging');
  },
  move(e) {
    const box = e.currentTarget;
    if (!box.dragging) return;
    const ground = box.querySelector('.ground').getBoundingClientRect();
    let best = null, least = Infinity;
    if (e.clientX > ground.left && e.clientX < ground.right && e.clientY > ground.top && e.clientY < ground.bottom)
      for (const spot of box.querySelectorAll('.wall-spot')) {
        const wall = spot.querySelector('.ghost').getBoundingClientRect();
        const beside = Math.max(wall.left - e.clientX, 0, e.clientX - wall.right);
        const above = Math.max(wall.top - e.clientY, 0, e.clientY - wall.bottom);
        const middle = Math.hypot(wall.x + wall.width / 2 - e.clientX, wall.y + wall.height / 2 - e.clientY);
        const distance = 4 * Math.hypot(beside, above) + middle;
        if (distance < least) { best = spot; least = distance; }
      }
    box.querySelector('.dragged')?.classList.remove('dragged');
    best?.classList.add('dragged');
  },
  drop(e, emit) {
    const box = e.currentTarget, spot = box.querySelector('.dragged');
    if (!box.dragging) return;
    box.dragging = false;
    box.querySelector('svg').classList.remove('dragging');
    spot?.classList.remove('dragged');
    if (!spot || e.type !== 'pointerup') return;
    window.picked = spot.dataset.id;
    emit(spot.dataset.id, 'left');
  },
};
