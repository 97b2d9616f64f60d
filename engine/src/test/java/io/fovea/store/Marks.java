package io.fovea.store;

import io.fovea.support.Records;

/** Sets what runs after a file is marked as in use, for tests of other packages. */
public final class Marks {
  private Marks() {}

  public static void then(Store store, Runnable what) {
    store.hooks = Records.with(store.hooks, "onMarked", what);
  }
}
