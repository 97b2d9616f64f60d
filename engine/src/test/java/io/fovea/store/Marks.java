package io.fovea.store;

import io.fovea.support.Records;

/** For tests of other packages: what follows when a file says that it is in use. */
public final class Marks {
  private Marks() {}

  /** Has something else follow. */
  public static void then(Store store, Runnable what) {
    store.hooks = Records.with(store.hooks, "onMarked", what);
  }
}
