package io.fovea.explorer;

import java.util.EnumSet;
import java.util.Set;

/** A kind of operation, which can be switched off. */
enum Feature {
  // Bodies of transactions.
  TRANSFER(12, 64, Bank::transfer),
  SUM(3, 4, Bank::sum),
  APPEND(8, 64, Lists::append),
  POP(3, 64, Lists::pop),
  LIST(3, 8, Lists::read),
  LONG(8, 64, Longs::write),
  LONG_READ(2, 4, Longs::read),
  RANGE(4, 64, Ranges::step),
  RANGE_READ(1, 4, Ranges::read),
  CLEAR(1, 2, Ranges::clear),
  EXPIRE(4, 64, Sessions::step),
  SEQUENCE(4, 64, Catalogs::sequence),
  LEASE(4, 64, Leases::step),
  // Ways to run a writing transaction.
  AHEAD,
  SUBMIT,
  EXPLICIT,
  PESSIMISTIC,
  LIMIT,
  VIRTUAL,
  // Catalog changes.
  INDEX(1, 1, Bank::index),
  TABLE(2, 4, Catalogs::table),
  TABLE_TX(3, 8, Catalogs::inTransaction),
  EVOLVE(1, 2, Catalogs::evolve),
  MIGRATE(4, 64, Migrants::step),
  LOAD(2, 2, Loads::load),
  LOAD_BESIDE(1, 2, Loads::beside),
  // Maintenance.
  COMPACT(2, 1, Maintenance::compact),
  CHECKPOINT(1, 2, Maintenance::checkpoint),
  VERIFY(1, 1, Maintenance::verify),
  STATS(1, 4, Maintenance::stats),
  SNAPSHOT(3, 3, Copies::snapshot),
  BACKUP(1, 1, Copies::backup),
  INTERRUPT(1, 1, Maintenance::interrupt),
  FOLLOW(2, 1, Subscribers::follow),
  FOLLOW_FILE(2, 1, Subscribers::followFile),
  TYPED(4, 64, Typed::step),
  EVOLVE_OBJECT(1, 2, Typed::evolve),
  MAP(3, 64, Maps::step),
  EXPIRY(1, 2, Sessions::drop),
  LISTEN(1, 1, Listeners::step),
  NEIGHBOUR(1, 1, SharedBuffers::step),
  BYTE_INDEX(4, 64, ByteIndexes::step),
  MISUSE(1, 2, Misuses::step),
  // Events of the whole database.
  CLOSE,
  KILL,
  FAULT,
  MEMORY;

  final int weight;
  final int atOnce;
  final Step step;

  Feature() {
    this(
        0,
        1,
        (life, worker) -> {
          throw new AssertionError("no step");
        });
  }

  Feature(int weight, int atOnce, Step step) {
    this.weight = weight;
    this.atOnce = atOnce;
    this.step = step;
  }

  boolean suits(Setup setup) {
    return switch (this) {
      case FOLLOW -> setup.followed();
      case FOLLOW_FILE -> setup.followed() && setup.place() == Setup.Place.FILE;
      case NEIGHBOUR -> setup.shared();
      default -> true;
    };
  }

  String shortName() {
    String n = name();
    int at = n.indexOf('_');
    return at < 0
        ? n.substring(0, Math.min(6, n.length()))
        : n.substring(0, 3) + n.substring(at, Math.min(n.length(), at + 3));
  }

  private static final Set<Feature> ENDINGS = EnumSet.of(CLOSE, KILL, FAULT);

  /** Returns whether operations of the two can run at the same time. */
  static boolean mayOverlap(Feature a, Feature b) {
    // Faults and kills within a process need simulated disks, which other processes cannot read.
    boolean file = a == FOLLOW_FILE || b == FOLLOW_FILE;
    boolean simulated = a == FAULT || b == FAULT || a == KILL || b == KILL;
    boolean either = (a == FAULT || b == FAULT) && (a == MEMORY || b == MEMORY);
    return !(ENDINGS.contains(a) && ENDINGS.contains(b)) && !(file && simulated) && !either;
  }
}
