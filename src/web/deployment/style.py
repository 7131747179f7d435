"""CSS of the page. Sides differ in shape as well as color: discs and solid lines, squares and dashes."""

CSS = """
:root { --goal: #b38f00; --wall: #59636f; --wall-edge: #39424d; --cover: #5b8c3e; --token-ink: #fff; --legal: #009E73;
  --heat: #9b3f8a; }
body.body--dark {
  --goal: #F0E442; --wall: #49525f; --wall-edge: #6d7988; --cover: #7fb35c; --token-ink: #0d1218; --legal: #2fd0a2;
  --heat: #CC79A7;
}
.dp .p1 { --side: var(--first); } .dp .p2 { --side: var(--second); }
.dp { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; justify-content: center; }
.dp-left { width: min(100%, 780px, max(22rem, calc((100vh - 14.5rem) * 1.03)));
  display: flex; flex-direction: column; gap: .5rem; }
.dp-right { flex: 1 1 22rem; max-width: 27rem; min-width: min(22rem, 100%); display: flex; flex-direction: column;
  gap: .6rem; }
.dp-card { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: .6rem .8rem; }
.dp-board { position: relative; aspect-ratio: 768 / 745; width: 100%; }
.dp-board:focus-visible { outline: 3px solid var(--blue); outline-offset: 2px; }
.dp-layers { position: relative; }
.dp-layers svg { width: 100%; height: auto; display: block; }
.dp-over { position: absolute; inset: 0; pointer-events: none; }
.dp-layers > * { will-change: transform; }  /* one layer each, so that animations do not repaint the ground */

.dp-ground .field { fill: var(--cell); stroke: var(--line); }
.dp-ground .zone-1 { fill: color-mix(in srgb, var(--first) 11%, var(--cell)); }
.dp-ground .zone-2 { fill: color-mix(in srgb, var(--second) 11%, var(--cell)); }
.dp-ground .goal { fill: color-mix(in srgb, var(--yellow) 34%, var(--cell)); }
.dp-ground .cover { stroke: var(--cover); stroke-width: 4; stroke-dasharray: 2 3; stroke-linejoin: round; }
.dp-ground .wall { fill: var(--wall); stroke: var(--wall-edge); stroke-width: 1.5; }
.dp-ground .field > path:hover { stroke: var(--ink); stroke-width: 2; }
.dp-ground .border { fill: none; pointer-events: none; stroke-linecap: round; }
.dp-ground .border.zone-1 { stroke: var(--first); stroke-width: 2; opacity: .55; }
.dp-ground .border.zone-2 { stroke: var(--second); stroke-width: 2; stroke-dasharray: 7 5; opacity: .65; }
.dp-ground .border.goal { stroke: var(--goal); stroke-width: 2.5; fill: none; }
.dp-ground .number { font-size: 8px; fill: var(--faint); text-anchor: middle; pointer-events: none; }

.dp-pieces .star { fill: none; stroke: var(--goal); stroke-width: 1.5; }
.dp-pieces .held-1 { fill: var(--first); stroke: var(--first); }
.dp-pieces .held-2 { fill: var(--second); stroke: var(--second); }
.dp-pieces .hold { fill: none; stroke-width: 4; stroke-linecap: round; }
.dp-pieces .hold.p1 { stroke: var(--side); } .dp-pieces .hold.p2 { stroke: var(--side); stroke-dasharray: 8 5; }
.dp-pieces .candidate { fill: var(--legal); fill-opacity: .3; stroke: var(--legal); stroke-width: 1.6; }
.dp-pieces .candidate.outlined { fill: none; }
.dp-pieces .heat { fill: var(--heat); }
.dp-pieces .best { fill: none; stroke: var(--ink); stroke-width: 4; }
.dp-pieces .chance { font-size: 11px; font-weight: 700; text-anchor: middle; fill: var(--ink); paint-order: stroke;
  stroke: var(--card); stroke-width: 3; }
.dp-pieces .choice path { fill: none; stroke: var(--heat); stroke-width: 4; stroke-linecap: round; }
.dp-pieces .rank-2 path, .dp-pieces .rank-3 path { stroke-width: 2.5; stroke-dasharray: 6 5; }
.dp-pieces .choice .rank { fill: var(--ink); stroke: var(--card); stroke-width: 1.5; }
.dp-pieces .choice .rank-text { font-size: 11px; font-weight: 800; text-anchor: middle; fill: var(--card); }
.dp-advice { font-size: .85rem; position: relative; } .dp-advice .lab-busy { position: absolute; right: .8rem; }
.dp-advice p { margin: .2rem 0; overflow-wrap: anywhere; }
.dp-choices { list-style: none; margin: .3rem 0; padding: 0; display: grid; gap: .25rem; }
.dp-choices li { display: grid; grid-template-columns: 1.4rem 1fr auto; gap: 0 .4rem; align-items: baseline; }
.dp-choices i { font-style: normal; font-weight: 700; text-align: center; border-radius: 1rem; color: var(--card);
  background: var(--ink); }
.dp-choices .bar { grid-column: 2 / 4; height: .3rem; border-radius: .2rem; background: var(--heat); }
.dp-pieces .cursor { fill: none; stroke: var(--ink); stroke-width: 3.5; }
.dp .body { fill: var(--side); stroke: var(--cell); stroke-width: 1.5; }
.dp .token, .dp-badge { color: var(--token-ink); }
.dp-layers { container-type: inline-size; }
.dp .token .sign { transform: translate(0, -5.8px) scale(.62); }
.dp .token .name { font-size: 9.5px; font-weight: 700; text-anchor: middle; fill: var(--token-ink); }
@container (max-width: 560px) {  /* a small board: names could not be read, so signs take their room */
  .dp .token .name { display: none; } .dp .token .sign { transform: translate(0, -1.5px) scale(1.02); }
}
.dp .token .mark { font-size: 11px; fill: var(--ink); }
.dp .token.acted .body { fill: color-mix(in srgb, var(--side) 78%, var(--cell)); }
.dp .halo { fill: none; stroke: none; }
.dp .token.active .halo { stroke: var(--ink); stroke-width: 3; stroke-dasharray: 8 5; }
.dp .hp-bar { fill: #1c2430; stroke: var(--cell); stroke-width: 1; }
.dp .hp { fill: #2fd0a2; } .dp .hp.lost { fill: #59636f; }
.dp .reticle { fill: none; stroke: var(--legal); stroke-width: 2.5; }
.dp-pieces .in-sight { fill: var(--orange); fill-opacity: .1; }
.dp-pieces .range { fill: none; stroke: var(--orange); stroke-width: 2; stroke-dasharray: 6 4; }
.dp .odds { font-size: 14px; font-weight: 800; text-anchor: middle; fill: var(--ink); paint-order: stroke;
  stroke: var(--card); stroke-width: 4; }
.dp-unit { font-size: .85rem; min-height: 6.5rem; } .dp-unit ul { margin: 0; padding-left: 1.1rem; }
.dp abbr { text-decoration: underline dotted; cursor: help; }
.dp .trace { fill: none; stroke: var(--side); stroke-width: 3; stroke-linecap: round; opacity: .75; }
.dp .trace.aimed { stroke-dasharray: 2 6; }
.dp .loss { font-size: 17px; font-weight: 800; text-anchor: middle; fill: var(--ink); paint-order: stroke;
  stroke: var(--card); stroke-width: 4; }
.dp .fallen { stroke: var(--ink); stroke-width: 4; stroke-linecap: round; opacity: .8; }
.dp .moving { animation: dp-move .25s ease-out; }
.dp .loss.new { animation: dp-rise .4s ease-out; }
@keyframes dp-move { from { transform: translate(var(--dx), var(--dy)); } }
@keyframes dp-rise { from { transform: translateY(14px); opacity: 0; } }
@media (prefers-reduced-motion: reduce) { .dp * { animation: none !important; } }

.dp-badge { width: 1.35em; height: 1.35em; vertical-align: -.3em; display: inline-block; flex: none; }
.dp-status-room { height: 4.1rem; }
.dp-status { min-height: 4.1rem; display: grid; gap: .6rem; align-items: center;
  grid-template-columns: minmax(9rem, 1fr) auto minmax(9rem, 1fr); }
.dp-status .score { display: flex; align-items: center; gap: .5rem; padding: .3rem .7rem; border-radius: .8rem;
  border: 2px solid var(--line); background: var(--card); min-width: 0; }
.dp-status .score.turn { border-color: var(--side);
  box-shadow: 0 0 0 2px color-mix(in srgb, var(--side) 25%, transparent); }
.dp-status .score b { display: block; line-height: 1.25; font-size: .92rem; }
.dp-status .score > div { min-width: 0; }
.dp-status .score small { color: var(--faint); display: block; line-height: 1.2; overflow-wrap: anywhere; }
.dp-status .score output { margin-left: auto; font-size: 1.7rem; font-weight: 800; color: var(--side); }
.dp-status .score .dp-badge { width: 1.6rem; height: 1.4rem; width: auto; }
.dp-status .middle { text-align: center; }
.dp-status .when { font-weight: 700; }
.dp-status .chips { display: flex; gap: .2rem; flex-wrap: wrap; justify-content: center; }
.dp .chip { font-size: .7rem; padding: 0 .45rem; border-radius: 1rem; color: var(--faint);
  border: 1px solid var(--line); }
.dp .chip.on { color: var(--card); background: var(--ink); border-color: var(--ink); font-weight: 700; }
.dp-headline { font-size: 1.05rem; font-weight: 600; text-align: center; line-height: 1.35; min-height: 1.85rem;
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.dp-over-now { font-size: 1.35rem; }
.dp-last { min-height: 3.6rem; font-size: .85rem; }
.dp-last .dp-entry { border-bottom: 0; }

.dp .dice { display: inline-flex; align-items: center; gap: 2px; margin-right: .5rem; vertical-align: middle; }
.dp .dice i { font-style: normal; font-size: .72rem; color: var(--faint); margin-right: 2px; }
.dp .die { display: inline-grid; place-items: center; width: 1.15rem; height: 1.15rem; font-size: .72rem;
  font-weight: 600; border-radius: .25rem; border: 1px solid var(--faint); color: var(--faint); }
.dp .die.good { background: var(--ink); color: var(--card); border-color: var(--ink); }

.dp-buttons { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; }
.dp-buttons.replay { flex-wrap: nowrap; }
.dp-buttons .q-slider { flex: 1 1 7rem; min-width: 6rem; height: 1.4rem; width: auto; }
.dp .q-expansion-item { background: var(--card); border: 1px solid var(--line); border-radius: .9rem;
  overflow: hidden; }
.dp .q-expansion-item .q-item { min-height: 2.3rem; padding: .2rem .8rem; font-weight: 600; }
.dp .nicegui-expansion-content, .dp .q-expansion-item__content > * { gap: .3rem; padding: .2rem .6rem .6rem; }
.dp .q-btn { min-height: 2rem; }
.dp-roster { display: grid; grid-template-columns: 1fr 1fr; gap: .3rem; }
.dp-row { display: flex; border-radius: .5rem; border: 1px solid var(--line); overflow: hidden; }
.dp-row > button { all: unset; cursor: pointer; display: flex; align-items: center; gap: .4rem; padding: .2rem .45rem;
  font-size: .85rem; box-sizing: border-box; }
.dp-row > .pick { flex: 1; min-width: 0; }
.dp-row > .undo { padding: .2rem .55rem; border-left: 1px solid var(--line); visibility: hidden; }
.dp-row.can-undo > .undo { visibility: visible; }
.dp-row > button:focus-visible { outline: 2px solid var(--blue); outline-offset: -2px; }
.dp-row > button:hover { background: var(--board); }
.dp-row.chosen { border-color: var(--ink); box-shadow: inset 0 0 0 1px var(--ink); background: var(--board); }
.dp-row.placed .pick { opacity: .6; }
.dp-row small { color: var(--faint); }
.dp-scroll { overflow-x: auto; }
.dp-table { width: 100%; border-collapse: collapse; font-size: .78rem; }
.dp-table th { text-align: left; color: var(--faint); font-weight: 600; }
.dp-table td, .dp-table th { padding: .12rem .25rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
.dp-table tr.active { background: color-mix(in srgb, var(--side) 20%, transparent); font-weight: 600; }
.dp-table tr.fallen { opacity: .45; }
.dp-table .pips { letter-spacing: .05em; color: var(--legal); }
.dp-log { max-height: 22rem; overflow-y: auto; font-size: .8rem; }
.dp-entry { border-left: 4px solid var(--side); padding: .2rem .5rem; border-bottom: 1px solid var(--line);
  cursor: pointer; }
.dp-entry:hover { background: var(--board); }
.dp-entry small { color: var(--faint); margin-right: .5rem; }
.dp-entry b { margin-right: .5rem; font-weight: 600; }
.dp-entry ul { margin: 0; padding: 0; list-style: none; display: inline; }
.dp-entry li { display: inline; color: var(--faint); }
.dp-entry li + li::before { content: " · "; }
@media (max-width: 1150px) { .dp-right { max-width: 100%; } }
@media (min-width: 1100px) and (min-height: 700px) { .dp-left { position: sticky; top: 3.6rem; } }
@media (max-width: 760px), (max-height: 500px) {
  .dp-status { grid-template-columns: 1fr 1fr; } .dp-status .middle { grid-row: 2; grid-column: 1 / 3; }
  .dp-status .score { padding: .2rem .4rem; }
  .dp-status .chips { flex-wrap: nowrap; }
  .dp-headline { min-height: 3rem; font-size: 1.05rem; white-space: normal; } .dp-status-room { height: 6.9rem; }
}
"""
