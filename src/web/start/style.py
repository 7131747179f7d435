"""CSS of the start page."""

CSS = """
.st-top { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: center; margin-bottom: 1rem; }
.st-words { flex: 1 1 20rem; } .st-board { flex: 0 1 22rem; padding: .5rem; }
.st-board .quoridor { display: block; width: 100%; height: auto; }
.st-name { font-size: 2.6rem; font-weight: 800; letter-spacing: -.02em; line-height: 1.1; }
.st-section { font-weight: 700; margin: 1rem 0 .3rem; }
.st-row { display: block; padding: .6rem .8rem; min-height: 44px; border-radius: .6rem; color: var(--link) !important;
  overflow-wrap: anywhere; }
.st-row:hover, .st-row:focus-visible { background: var(--board); }
"""
