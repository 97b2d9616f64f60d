package io.fovea.tpcc.settings;

import io.fovea.Hints;

/** The kinds of hints, named as in the figures that compare them. */
public enum HintKind {
  /** No hints: every access starts at the root and translates every page id. */
  NONE(Hints.NONE),
  /** "BP skipping": frames of child pages. */
  FRAME(Hints.FRAME),
  /** "Index skipping": locations of records. */
  PAGE(Hints.PAGE),
  /** Both of the above. */
  BOTH(Hints.BOTH),
  /** All hints. */
  ALL(Hints.ALL);

  private final Hints hints;

  HintKind(Hints hints) {
    this.hints = hints;
  }

  Hints hints() {
    return hints;
  }
}
