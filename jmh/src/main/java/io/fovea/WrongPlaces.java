package io.fovea;

import io.fovea.btree.PlacePoison;
import java.util.Random;

/** Places of records that lead astray. */
public final class WrongPlaces {
  private WrongPlaces() {}

  /**
   * Makes all of them wrong that a database knows now.
   *
   * @param db in which something is remembered
   * @param random what decides
   */
  public static void make(Database db, Random random) {
    PlacePoison.poison(db.store().places(), random);
  }
}
