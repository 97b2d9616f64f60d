package io.fovea.store;

import io.fovea.support.Records;

/** Replaces the action that follows marking a file as in use, for tests of other packages. */
public final class Marks {
  private Marks() {}

  /** Sets the action. */
  public static void then(Store store, Runnable what) {
    store.hooks = Records.with(store.hooks, "onMarked", what);
  }
}
