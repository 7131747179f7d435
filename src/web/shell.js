// A clicked button loses the focus, so that keys go to the board.
addEventListener('click', e => e.detail && e.target.closest('button')?.blur());
// Back and Forward show the game of their address.
addEventListener('popstate', () => location.reload());
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
addEventListener('load', () => setTimeout(showSound));
