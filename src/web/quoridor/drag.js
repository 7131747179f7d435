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
  // The wall nearest to a point, and how far it is from the middle line of its groove.
  nearest(box, x, y) {
    let found = [null, Infinity], least = Infinity;
    for (const spot of box.querySelectorAll('.wall-spot')) {
      const wall = spot.querySelector('.ghost').getBoundingClientRect();
      const away = Math.hypot(Math.max(wall.left - x, 0, x - wall.right), Math.max(wall.top - y, 0, y - wall.bottom));
      const distance = 4 * away + Math.hypot(wall.x + wall.width / 2 - x, wall.y + wall.height / 2 - y);
      if (distance < least) { found = [spot, away]; least = distance; }
    }
    return found;
  },
  move(e) {
    const box = e.currentTarget;
    if (!box.dragging) return;
    const ground = box.querySelector('.ground').getBoundingClientRect();
    const isOver = e.clientX > ground.left && e.clientX < ground.right && e.clientY > ground.top && e.clientY < ground.bottom;
    box.querySelector('.dragged')?.classList.remove('dragged');
    if (isOver) this.nearest(box, e.clientX, e.clientY)[0]?.classList.add('dragged');
  },
  // A finger that touches a groove, or a cell close to one, means the wall there, which is previewed first.
  click(e, emit) {
    const box = e.currentTarget, part = clickable.part(e), cell = box.querySelector('.cell').getBoundingClientRect();
    const [spot, away] = this.nearest(box, e.clientX, e.clientY);
    const reach = cell.width * (part?.matches('.legal:not(.wall-spot)') ? .2 : .35);
    if (box.pointer !== 'touch' || box.held || !spot || away > reach) return clickable.click(e, emit);
    window.picked = spot.dataset.id;
    emit(spot.dataset.id, 'touch');
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
