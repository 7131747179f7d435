"""CSS of the page: light wood with dark walls, and the reverse in the dark theme."""

CSS = """
:root { --wood: #a8713f; --wood-2: #8a5830; --groove: #c39a68; --field: #f0dcb8; --field-edge: #d9bd8e;
  --plank: #3a2313; --plank-edge: #6a4526; --wood-ink: #fbeed6; }
body.body--dark { --wood: #3a2617; --wood-2: #2a1a0f; --groove: #1d120a; --field: #6d4c33; --field-edge: #5a3d28;
  --plank: #f4e3c1; --plank-edge: #c9a876; --wood-ink: #d9bf98; }
.quoridor { width: min(100%, 40rem, calc((100vh - 7rem) * .885)); }
.quoridor .first, .qr-first { --own: var(--first); } .quoridor .second, .qr-second { --own: var(--second); }
.quoridor.first-moves { --mover: var(--first); } .quoridor.second-moves { --mover: var(--second); }
.quoridor text { font: 600 14px system-ui, sans-serif; text-anchor: middle; dominant-baseline: central; }
.quoridor .frame { fill: var(--wood); stroke: var(--wood-2); stroke-width: 2; }
.quoridor .ground { fill: var(--groove); }
.quoridor .name { fill: var(--wood-ink); font-size: 13px; opacity: .85; }
.quoridor .cell { fill: var(--field); stroke: var(--field-edge); stroke-width: 1.5; }
.quoridor .cell.last { fill: color-mix(in srgb, var(--yellow) 45%, var(--field)); }
.quoridor .goal { fill: var(--own); opacity: .45; }
.quoridor .plank, .quoridor .wall { fill: var(--plank); stroke: var(--plank-edge); stroke-width: 1; }
.quoridor .wall { filter: drop-shadow(0 2px 2px rgb(0 0 0 / .45)); }
.quoridor .wall.latest { stroke: var(--yellow); stroke-width: 2.5; animation: qr-drop .25s ease-out; }
.quoridor .tag { fill: var(--own); } .quoridor .tag-name { fill: #fff; }
.quoridor .count { text-anchor: end; fill: var(--ink); font-weight: 500; font-size: 15px; }
.quoridor .path { fill: none; stroke: var(--own); stroke-width: 3; stroke-dasharray: 1 9; stroke-linecap: round;
  stroke-linejoin: round; opacity: .9; }
.quoridor .path-end { fill: none; stroke: var(--own); stroke-width: 2.5; opacity: .9; }
.quoridor .pawn .body { fill: var(--own); stroke: #fff; stroke-width: 2.5; }
.quoridor .pawn .shadow { fill: rgb(0 0 0 / .3); } .quoridor .pawn .shine { fill: rgb(255 255 255 / .35); }
.quoridor .pawn-name { fill: #fff; font-size: 16px; font-weight: 700; }
.quoridor .pawn.turn .body { animation: qr-turn 1.8s ease-in-out infinite; }
.quoridor .pawn.moved { animation: qr-slide .25s ease-out; }
.quoridor .hint { pointer-events: none; }
.quoridor .hint-mark { fill: color-mix(in srgb, var(--good) 35%, transparent); stroke: var(--good); stroke-width: 2.5; }
.quoridor .hint-shaft { stroke: var(--good); stroke-width: 8; } .quoridor .hint-head { fill: var(--good); }
.quoridor .grip { fill: transparent; } .quoridor .rack.own { cursor: grab; touch-action: none; }
.quoridor.dragging, .quoridor.dragging .spot { cursor: grabbing; } .quoridor .spot.dragged .ghost { opacity: .95; }
.quoridor .hint-tag { fill: var(--good); } .quoridor .hint-rank { fill: var(--card); font-size: 13px; }
.quoridor .hit { fill: transparent; }
.quoridor .spot { cursor: not-allowed; } .quoridor .spot.legal { cursor: pointer; }
.quoridor .ghost { opacity: 0; pointer-events: none; fill: var(--mover); }
.quoridor .dot { fill: var(--mover); opacity: .5; pointer-events: none; }
.quoridor .wall-spot .ghost { fill: none; stroke: #c1121f; stroke-width: 2.5; stroke-dasharray: 5 4; }
.quoridor .wall-spot.legal .ghost { fill: var(--mover); stroke: #fff; stroke-width: 1.5; stroke-dasharray: none; }
.quoridor .spot.armed .ghost { opacity: .95; }
.quoridor .spot:focus-visible .ghost { opacity: .85; }
@media not all and (pointer: coarse) { .quoridor .spot:hover .ghost { opacity: .75; } }
/* Grooves are too narrow for touch: walls are placed in their own mode. */
@media (pointer: coarse) { .quoridor.mode-both .wall-spot { pointer-events: none; } }
@media (prefers-reduced-motion: reduce) { .quoridor * { animation: none !important; } }
@keyframes qr-slide { from { transform: translate(var(--dx), var(--dy)); } }
@keyframes qr-drop { from { opacity: 0; transform: translateY(-8px); } }
@keyframes qr-turn { 50% { stroke: var(--yellow); } }
.qr-board { display: flex; gap: .6rem; align-items: stretch; }
.qr-board .drawing { flex: 1 1 auto; min-width: 0; }
.qr-side { flex: 1 1 20rem; max-width: 30rem; min-width: min(20rem, 100%); display: flex; flex-direction: column;
  gap: 1rem; }
@media (max-width: 1000px) { .qr-side { max-width: 40rem; } }
@media (max-height: 500px) {
  .quoridor { width: calc((100vh - 5rem) * .885); } .qr-board .drawing { flex: 0 0 auto; }
  .qr-side { min-width: 18rem; }
}
.qr-side .panel { flex: none; max-width: 100%; padding: .8rem 1rem; }
.qr-bar-box { flex: 0 0 .8rem; display: flex; }
.qr-bar { position: relative; width: 100%; border-radius: .4rem; overflow: hidden; background: var(--second); }
.qr-bar-first { position: absolute; left: 0; width: 100%; background: var(--first); transition: height .4s; }
.qr-factor { display: grid; grid-template-columns: 5rem 1fr 2rem; gap: .5rem; align-items: center; height: 1.5rem; }
.qr-factor.qr-sum { border-top: 1px solid var(--line); font-weight: 600; }
.qr-factor b { text-align: right; font-variant-numeric: tabular-nums; }
.qr-sides { display: flex; justify-content: space-between; } .qr-sides i { font-style: normal; }
.qr-track { position: relative; height: .7rem; border-radius: .35rem; background: var(--board); overflow: hidden; }
.qr-track::after { content: ""; position: absolute; left: 50%; top: 0; bottom: 0; border-left: 1px solid var(--faint); }
.qr-fill { position: absolute; top: 0; bottom: 0; background: var(--own); transition: width .3s; }
.qr-hints { height: 9.2rem; }
.qr-hint { display: grid; grid-template-columns: 1.6rem 3rem 5.5rem 1fr; gap: .4rem; align-items: center;
  height: 1.8rem; padding: 0 .3rem; border-radius: .4rem; width: 100%; text-align: left; cursor: pointer; }
.qr-hint:hover, .qr-hint:focus-visible { background: var(--board); }
.qr-hint i { background: var(--good); color: var(--card); border-radius: 1rem; text-align: center; font-style: normal;
  font-weight: 600; font-size: .8rem; }
.qr-hint small { color: var(--faint); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.qr-movebox.drawing { height: 11rem; overflow-y: auto; display: flex; flex-direction: column-reverse; }
.qr-moves { display: grid; grid-template-columns: 2.2rem 1fr 1fr; gap: .1rem .4rem; align-items: center;
  margin-bottom: auto; font-variant-numeric: tabular-nums; }
.qr-moves i { color: var(--faint); font-style: normal; text-align: right; }
.qr-move { text-align: left; color: var(--ink); padding: .1rem .5rem; border-radius: .35rem;
  border-left: 3px solid var(--own); }
.qr-move:hover { background: var(--board); } .qr-move.here { background: var(--board); font-weight: 700; }
.qr-move b { color: var(--bad); margin-left: .15rem; }
.qr-graph svg { width: 100%; border: 1px solid var(--line); border-radius: .4rem; }
.qr-graph .qr-half { fill: var(--board); } .qr-graph .qr-at { fill: transparent; }
.qr-curve { fill: none; stroke: var(--link); stroke-width: 2; stroke-linejoin: round; }
.qr-cursor { stroke: var(--faint); stroke-width: 1.5; stroke-dasharray: 3 3; }
.qr-mistake { fill: var(--orange); } .qr-blunder { fill: var(--vermillion); }
.qr-comment { min-height: 1.5rem; }
.qr-variation { display: block; width: 100%; text-align: left; padding: .25rem .5rem; border-radius: .35rem;
  cursor: pointer; color: var(--ink); overflow-wrap: anywhere; }
.qr-variation:hover { background: var(--board); } .qr-variation.here { background: var(--board); font-weight: 700; }
.qr-variation i { font-style: normal; color: var(--faint); }
@media (pointer: coarse), (max-width: 900px) { .qr-variation { min-height: 44px; } }
.qr-clocks { display: flex; gap: .5rem; width: 100%; }
.qr-clock { flex: 1; text-align: center; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums;
  border: 1px solid var(--line); border-left: 5px solid var(--own); border-radius: .4rem; }
.qr-clock.on { background: var(--board); } .qr-clock.short { color: var(--bad); }
.qr-thinking { font-variant-numeric: tabular-nums; }
.qr-delay { width: 6rem; } .qr-note { min-height: 1.3rem; }
.qr-modes { width: 100%; } .qr-modes > .q-btn { flex: 1; text-transform: none; }
.qr-seat { flex: 1; min-width: 0; } .qr-seat .q-field__control { border-left: 5px solid var(--own); }
"""
