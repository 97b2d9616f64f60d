package io.fovea;

import io.fovea.btree.KeyLocationPoison;
import java.util.Random;

/** Makes cached key locations wrong. */
public final class WrongKeyLocations {
  private WrongKeyLocations() {}

  /**
   * Makes all cached key locations of a database wrong.
   *
   * @param db a database with cached key locations
   * @param random the source of wrong locations
   */
  public static void make(Database db, Random random) {
    KeyLocationPoison.poison(db.store().keyLocations(), random);
  }
}
