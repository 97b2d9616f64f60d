package io.fovea.tpcc.settings;

import io.fovea.Hints;

/** The hints of an engine, by the names of the figures that compare them. */
public enum HintKind {
  /** Every access begins at a root, every page is looked up by its id. */
  NONE(Hints.NONE),
  /** "BP skipping": frames of children. */
  FRAME(Hints.FRAME),
  /** "Index skipping": places of records. */
  PAGE(Hints.PAGE),
  /** The two together. */
  BOTH(Hints.BOTH),
  /** Whatever there is. */
  ALL(Hints.ALL);

  private final Hints hints;

  HintKind(Hints hints) {
    this.hints = hints;
  }

  Hints hints() {
    return hints;
  }
}
