"""Colors and CSS of the pages. The palette of Okabe and Ito is safe for color-blind readers."""

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE, GRAY = "#0072B2", "#D55E00", "#CC79A7", "#8A8F98"

FIRST, SECOND = BLUE, VERMILLION  # the two players, in every game

# Drawings use these variables, so that they follow the theme without a redraw.
CSS = """
:root {
  --orange: #E69F00; --sky: #56B4E9; --green: #009E73; --yellow: #F0E442;
  --blue: #0072B2; --vermillion: #D55E00; --purple: #CC79A7; --gray: #8A8F98;
  --first: #0072B2; --second: #D55E00;
  --page: #f4f5f7; --card: #ffffff; --ink: #1c2430; --faint: #59626f; --line: #d5dae1;
  --board: #e9edf2; --cell: #ffffff; --closed: #c3cddb; --closed-edge: #aab7c9;
  --good: #00754f; --bad: #b23c00; --link: #005f96; --first-ink: #005f96; --second-ink: #b04a00;
}
body.body--dark {
  --first: #56B4E9; --second: #E69F00;
  --page: #12161c; --card: #1c222b; --ink: #e8ecf2; --faint: #97a3b3; --line: #343d4a;
  --board: #232a34; --cell: #161b22; --closed: #3d4a5c; --closed-edge: #526176;
  --good: #3fd0a4; --bad: #ff9455; --link: #7cc7f5; --first-ink: #7cc7f5; --second-ink: #f0b030;
}
body { background: var(--page); color: var(--ink); }
.lab-header { background: var(--card) !important; color: var(--ink) !important; padding: 0 .5rem;
  border-bottom: 1px solid var(--line); flex-wrap: nowrap; align-items: center; gap: .25rem; min-height: 3rem; }
.lab-nav { display: flex; flex: 1; gap: .15rem; overflow-x: auto; scrollbar-width: none; }
.lab-link { flex: none; display: flex; align-items: center; gap: .4rem; padding: .45rem .7rem; border-radius: .6rem;
  color: var(--faint) !important; text-decoration: none !important; white-space: nowrap; }
.lab-link:hover, .lab-link:focus-visible { background: var(--board); color: var(--ink) !important; }
.lab-link.here { color: var(--ink) !important; background: var(--board); font-weight: 600; }
.lab-link .q-icon { font-size: 1.25rem; }
.lab-main { width: 100%; max-width: 1240px; margin: 0 auto; }
.nicegui-content { padding: 1rem; }
/* The board and the panel side by side, or stacked on narrow screens. */
.bench { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; justify-content: center; }
.board { flex: 0 1 auto; max-width: 100%; overflow: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: .9rem; padding: .8rem; }
.panel { flex: 1 1 17rem; max-width: 26rem; min-width: min(17rem, 100%); display: flex; flex-direction: column;
  gap: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: 1rem; }
.headline { font-size: 1.25rem; font-weight: 600; line-height: 1.3; min-height: 1.6rem; }
.headline.won { color: var(--good); } .headline.lost { color: var(--bad); }
.faint { color: var(--faint); font-size: .85rem; }
/* The primary blue is too dark for outlines and text on a dark page. Only an early layer precedes Quasar's
   !important rules. */
@layer base { body.body--dark .q-btn--outline.text-primary, body.body--dark .q-btn--flat.text-primary {
  color: var(--sky) !important; } }
.lab-note { position: fixed; bottom: 1rem; left: 50%; transform: translateX(-50%); z-index: 3000; padding: .6rem 1rem;
  border-radius: .7rem; background: var(--ink); color: var(--card); font-size: .9rem; max-width: 92vw; }
.lab-sound, .lab-theme, .lab-rules { color: var(--ink) !important; min-width: 44px; min-height: 44px; }
.lab-sound .on, .sound-on .lab-sound .off { display: none; } .sound-on .lab-sound .on { display: block; }
.lab-ending { display: flex; flex-direction: column; gap: .35rem; padding: .8rem; border-radius: .7rem;
  border: 1px solid var(--line); border-left: 6px solid var(--tone, var(--faint)); animation: arrive .35s ease-out; }
.lab-ending.won { --tone: var(--good); } .lab-ending.lost { --tone: var(--bad); }
.lab-ending.first { --tone: var(--first-ink); } .lab-ending.second { --tone: var(--second-ink); }
.lab-result { font-size: 1.6rem; font-weight: 700; line-height: 1.2; color: var(--tone, var(--ink)); }
.lab-offer { display: none; flex-wrap: wrap; align-items: center; gap: .3rem .8rem; margin-bottom: .8rem;
  padding: .5rem 1rem; border-radius: .9rem; background: var(--card); border: 1px solid var(--line); }
.lab-offer.on { display: flex; }
.lab-rules-card { width: min(56rem, 94vw); max-width: 94vw !important; background: var(--card); color: var(--ink); }
.lab-rules-pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem;
  width: 100%; }
.lab-rules-pictures figure { margin: 0; } .lab-rules-pictures figcaption { margin-top: .4rem; }
.lab-where { min-width: 4.5rem; text-align: center; font-variant-numeric: tabular-nums; }
@keyframes arrive { from { transform: scale(.92); } }
.sr-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.drawing [data-id]:focus { outline: none; }
.drawing [data-id]:focus-visible > :first-child { stroke: var(--ink); stroke-width: 3; }
/* A pointer darkens a filled button, so that its white text stays legible. */
.q-btn.bg-primary > .q-focus-helper { background: #000; }
.q-btn.bg-primary > .q-focus-helper::before, .q-btn.bg-primary > .q-focus-helper::after { opacity: 0; }
.lab-say { display: flex; flex-wrap: wrap; gap: 0 .6rem; min-height: 1.5rem; line-height: 1.5rem; font-size: .95rem; }
.lab-say.refusal { color: var(--bad); } .lab-say a, .lab-choice { color: var(--link); text-decoration: underline; }
.lab-progress { color: var(--faint); font-size: .85rem; white-space: nowrap; }
.lab-placeholder { display: flex; flex-direction: column; align-items: center; gap: .5rem; }
.lab-placeholder .board { width: min(100%, 30rem); opacity: .55; }
.lab-problem { margin: 2rem auto; } .lab-choice { padding: .6rem .4rem; }
.shake { animation: shake .3s; transform-box: fill-box; }
@keyframes shake { 25% { transform: translateX(-4px); } 50% { transform: translateX(4px); }
  75% { transform: translateX(-2px); } }
@media (prefers-reduced-motion: reduce) { *, ::before, ::after {
  animation: none !important; transition: none !important; } }
.lab-busy { visibility: hidden; color: var(--blue); } .lab-busy.on { visibility: visible; }
.drawing { display: block; touch-action: manipulation; user-select: none; -webkit-user-select: none;
  -webkit-touch-callout: none; }
.drawing svg { display: block; max-width: 100%; height: auto; }
.drawing [data-id] { cursor: pointer; }
.tagline { margin: .5rem 0 1.2rem; color: var(--faint); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); gap: 1rem; }
.game-card { display: flex; flex-direction: column; gap: .4rem; padding: 1rem; border-radius: .9rem;
  background: var(--card); border: 1px solid var(--line); color: var(--ink) !important;
  text-decoration: none !important; transition: transform .12s, border-color .12s; }
.game-card:hover, .game-card:focus-visible { transform: translateY(-3px); border-color: var(--blue); }
@media (pointer: coarse), (max-width: 900px) {
  .q-btn, .lab-link, .qr-move, .qr-hint, .gp-legal button, .gp-moves button, .lab-choice, .dp-row button {
    min-height: 44px !important; min-width: 44px !important; }
  .q-field--dense .q-field__control, .q-toggle, .q-slider, .q-item { min-height: 44px !important; }
  .q-field--dense .q-field__marginal { height: 44px !important; }
}
@media (max-width: 900px), (max-height: 500px) {  /* one line of icons, and room for the progress in two lines */
  .lab-link .nicegui-label, .lab-link > div { display: none; }
  .lab-progress { max-width: 7rem; font-size: .75rem; line-height: 1rem; white-space: normal; }
}
@media (max-height: 500px) {  /* a phone on its side: the board fits, and the panel stands beside it */
  .lab-main { display: flex; flex-direction: column; } .lab-offer { order: 1; margin-top: .8rem; }
  .lab-note { left: auto; right: 1rem; transform: none; max-width: 50vw; }
  .nicegui-content { padding: .4rem; } .bench { flex-wrap: nowrap; } .board { padding: .4rem; }
  .ttt, .ms { width: auto; max-width: 100%; max-height: calc(100vh - 4.5rem); }
  .ms { max-height: calc(100vh - 9rem); } .panel { min-width: 16rem; }
}
@media (max-width: 760px) {
  .lab-rules .block { font-size: 0; } .lab-rules .q-icon { margin: 0; }
  .nicegui-content { padding: .5rem; }
  .panel { max-width: 100%; }
  .cards { grid-template-columns: 1fr; gap: .6rem; }
  .game-card { display: grid; grid-template-columns: 7rem 1fr; column-gap: .8rem; padding: .7rem; }
  .game-card .picture { grid-row: span 2; align-self: center; }
}
"""
