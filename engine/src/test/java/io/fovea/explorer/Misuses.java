package io.fovea.explorer;

import io.fovea.error.InvalidUseException;

/** Calls that are refused in a body. */
final class Misuses {
  private Misuses() {}

  static void step(Life life, Worker worker) throws Exception {
    int which = worker.random.nextInt(6);
    life.db.run(
        tx -> {
          worker.linger(2);
          try {
            switch (which) {
              case 0 -> life.db.verify();
              case 1 -> life.db.snapshot().close();
              case 2 -> life.db.dropIndex("bank", "by_g");
              case 3 -> life.db.close();
              case 4 -> life.db.renameTable("bank", "small");
              default -> life.db.sweepExpired();
            }
            throw new Violation("misuse " + which + " was not refused");
          } catch (InvalidUseException e) {
            // expected
          }
        });
  }
}
