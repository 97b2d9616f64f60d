package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Accounts are migrated to the key by a number that moves between them, while threads transfer
 * money, exchange numbers, and open and close accounts; the threads go on in the new table.
 */
@Tag("slow")
@Timeout(value = 5, unit = java.util.concurrent.TimeUnit.MINUTES)
class MigrateModelTest extends IndexBuilds {
  private static final long SEED = Long.getLong("models.seed", 1);
  private static final int TIMES = Integer.getInteger("models.times", 1);
  private static final int ACCOUNTS = 600;
  private static final int THREADS = 3;
  private static final int AFTERWARDS = 20;
  private static final long MONEY = 1_000;

  private static final Layout.Definition D = Layout.define();
  private static final Field CENTS = D.int64("cents");
  private static final Field NUMBER = D.int64("number");
  private static final Field CHANGES = D.int64("changes");
  private static final Field NOTE = D.varBytes("note", 200);
  private static final Layout ROW = D.build();
  private static final TableSpec OLD =
      TableSpec.of("old", KeySpec.of(FieldType.INT64), ROW)
          .with(IndexSpec.unique("numbers", NUMBER));

  private static final Layout.Definition E = Layout.define();
  private static final Field ID = E.int64("id");
  private static final Field CENTS2 = E.int64("cents");
  private static final Field CHANGES2 = E.int64("changes");
  private static final TableSpec NEW =
      TableSpec.of("new", KeySpec.of(FieldType.INT64), E.build()).with(IndexSpec.unique("ids", ID));

  /** The acknowledged transfers, and the accounts that exist. */
  private static final class Told {
    final AtomicLong transfers = new AtomicLong();
    final AtomicLong next = new AtomicLong(ACCOUNTS);
    final Set<Long> ids = ConcurrentHashMap.newKeySet();
    final CountDownLatch begun = new CountDownLatch(THREADS);
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void writersContinue(Protocol protocol) throws Exception {
    for (long seed = SEED; seed < SEED + TIMES; seed++) {
      try {
        writersContinue(protocol, seed);
      } catch (Throwable e) {
        throw new AssertionError(
            "Replay: mvn -pl engine -am test -Dtest=MigrateModelTest -Dmodels.seed=" + seed, e);
      }
    }
  }

  private static void writersContinue(Protocol protocol, long seed) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable old = db.table(OLD);
      Told told = new Told();
      for (long i = 0; i < ACCOUNTS; i++) {
        long id = i;
        told.ids.add(id);
        db.run(tx -> old.insert(tx, old.key().set(id), account(old, id)));
      }
      List<Builder> writers = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Random random = new Random(seed * 31 + i);
        Builder writer = new Builder(() -> write(db, old, random, told));
        writer.start();
        writers.add(writer);
      }
      told.begun.await();
      MigrateReport report =
          db.migrate(
              old,
              NEW,
              (key, row, to) ->
                  to.add(
                      to.key().set(row.getLong(NUMBER)),
                      to.row()
                          .setLong(ID, key.getLong(0))
                          .setLong(CENTS2, row.getLong(CENTS))
                          .setLong(CHANGES2, row.getLong(CHANGES))));
      for (Builder writer : writers) {
        writer.done();
      }
      check(db, told);
      verify(db);
      assertTrue(report.records() > 0);
    }
  }

  private static Row account(RowTable t, long number) {
    return t.row()
        .setLong(CENTS, MONEY)
        .setLong(NUMBER, number)
        .setBytes(NOTE, new byte[(int) (number % 200)]);
  }

  private static void write(Database db, RowTable old, Random random, Told told) {
    try {
      while (true) {
        step(db, old, random, told);
        told.begun.countDown();
      }
    } catch (InvalidUseException e) {
      assertTrue(e.getMessage().contains("was migrated"), e::toString);
    }
    RowTable fresh = db.table(NEW);
    RowIndex ids = fresh.index("ids");
    for (int i = 0; i < AFTERWARDS; i++) {
      List<Long> all = List.copyOf(told.ids);
      long x = all.get(random.nextInt(all.size()));
      boolean[] done = new boolean[1];
      db.run(
          tx -> {
            Row row = fresh.row();
            done[0] = ids.get(tx, ids.key().set(x), row);
            if (done[0]) {
              fresh.update(tx, row.setLong(CHANGES2, row.getLong(CHANGES2) + 1));
            }
          });
      told.transfers.addAndGet(done[0] ? 1 : 0);
    }
  }

  private static void step(Database db, RowTable t, Random random, Told told) {
    List<Long> all = List.copyOf(told.ids);
    long x = all.get(random.nextInt(all.size()));
    long y = all.get(random.nextInt(all.size()));
    int what = random.nextInt(6);
    long amount = random.nextInt(100);
    long fresh = told.next.getAndIncrement();
    boolean[] done = new boolean[1];
    db.run(
        tx -> {
          Row p = t.row();
          Row q = t.row();
          done[0] = x != y && t.get(tx, t.key().set(x), p) && t.getForUpdate(tx, t.key().set(y), q);
          if (!done[0]) {
            return;
          }
          long up = p.getLong(NUMBER);
          long uq = q.getLong(NUMBER);
          p.setLong(CENTS, p.getLong(CENTS) - amount).setLong(CHANGES, p.getLong(CHANGES) + 1);
          q.setLong(CENTS, q.getLong(CENTS) + amount);
          switch (what) {
            case 0, 1 -> {
              // They exchange their numbers.
              t.update(tx, p.setLong(NUMBER, -1 - x));
              t.update(tx, q.setLong(NUMBER, up));
              t.update(tx, p.setLong(NUMBER, uq));
            }
            case 2 -> {
              // The second account is closed, and the first one gets its number.
              t.delete(tx, t.key().set(y));
              p.setLong(CENTS, p.getLong(CENTS) + q.getLong(CENTS));
              t.update(
                  tx,
                  p.setLong(NUMBER, uq).setLong(CHANGES, p.getLong(CHANGES) + q.getLong(CHANGES)));
            }
            case 3 -> {
              // A new account gets a number and half of the money.
              long half = p.getLong(CENTS) / 2;
              t.update(tx, p.setLong(NUMBER, fresh).setLong(CENTS, p.getLong(CENTS) - half));
              t.update(tx, q);
              Row made = account(t, up).setLong(CENTS, half).setBytes(NOTE, new byte[3]);
              t.insert(tx, t.key().set(fresh), made);
            }
            default -> {
              t.update(tx, p);
              t.update(tx, q);
            }
          }
        });
    if (done[0]) {
      told.transfers.incrementAndGet();
      if (what == 2) {
        told.ids.remove(y);
      } else if (what == 3) {
        told.ids.add(fresh);
      }
    }
  }

  private static void check(Database db, Told told) {
    RowTable fresh = db.table(NEW);
    RowIndex ids = fresh.index("ids");
    long[] sums = new long[2];
    Set<Long> seen = new HashSet<>();
    db.read(
        tx -> {
          Row other = fresh.row();
          try (RowCursor c = fresh.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              sums[0] += c.row().getLong(CENTS2);
              sums[1] += c.row().getLong(CHANGES2);
              long id = c.row().getLong(ID);
              assertTrue(seen.add(id), () -> "account " + id + " twice");
              assertTrue(ids.get(tx, ids.key().set(id), other));
              assertEquals(c.key().getLong(0), other.key(fresh.key()).getLong(0));
            }
          }
          return null;
        });
    assertEquals(told.ids, seen);
    assertEquals(ACCOUNTS * MONEY, sums[0], "money");
    assertEquals(told.transfers.get(), sums[1], "transfers");
    assertEquals(seen.size(), fresh.count());
  }
}
