"""CSS of the Runs page."""

CSS = """
.r-card { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: .8rem 1rem;
  margin-bottom: 1rem; min-width: 0; }
.r-filter { width: 14rem; }
.r-table { background: transparent; color: var(--ink); } .r-table tbody tr { cursor: pointer; }
.r-table td { font-variant-numeric: tabular-nums; } .r-table td, .r-table th { padding: .2rem .45rem !important; }
.r-changes { max-width: 14rem; overflow: hidden; text-overflow: ellipsis; }
.r-metric { min-width: 12rem; } .r-axis { min-width: 10rem; } .r-meaning { min-height: 1.4rem; margin: .3rem 0; }
.r-chart { width: 100%; height: 24rem; }
.r-details { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 1rem; }
.r-name { font-weight: 600; overflow-wrap: anywhere; margin-bottom: .4rem; }
.r-scores { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.r-scores th { text-align: right; font-weight: 500; color: var(--faint); font-size: .8rem; }
.r-scores td { text-align: right; padding: .15rem 0; border-top: 1px solid var(--line); }
.r-scores td:first-child { text-align: left; }
.r-pictures { display: flex; flex-wrap: wrap; gap: .6rem; margin-top: .6rem; }
.r-pictures figure { margin: 0; max-width: 100%; min-width: 6rem; width: min(var(--width), 22rem * var(--ratio)); }
.r-pictures img { width: 100%; max-width: var(--width); aspect-ratio: var(--ratio); border-radius: .5rem;
  background: #fff; display: block; }
.r-config { max-height: 24rem; overflow: auto; }
.r-fault { color: var(--vermillion); overflow-wrap: anywhere; }
"""
