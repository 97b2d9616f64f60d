package io.fovea.examples;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Accounts, and threads that move money between them: transactions, conflicts, an invariant.
 *
 * <p>Several tellers transfer money between few accounts, so their transactions often conflict. The
 * engine then runs a body again; the program has no code for that. An auditor adds up all accounts
 * meanwhile. Transactions are serializable, so each of its sums is the same.
 *
 * <p>Usage: {@code Bank FOLDER}
 */
public final class Bank {
  private static final int ACCOUNTS = 20;
  private static final long FIRST_BALANCE = 1_000;
  private static final int TELLERS = 4;
  private static final int TRANSFERS = 250;

  private static final Layout.Builder LAYOUT = Layout.builder();
  private static final Field CENTS = LAYOUT.int64("cents");
  private static final TableSpec SPEC =
      TableSpec.of("accounts", KeySpec.of(FieldType.INT64), LAYOUT.build());

  private final Database db;
  private final Table accounts;

  private Bank(Database db) {
    this.db = db;
    this.accounts = db.table(SPEC); // opens it, or creates it
  }

  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[0]).resolve("bank.fovea");
    try (Database db = Database.open(file, Options.defaults())) {
      Bank bank = new Bank(db);
      bank.openAccounts();
      bank.doBusiness();
      System.out.println("retries after conflicts: " + db.stats().retries());
      System.out.println("sum: " + bank.sum());
    }
  }

  /** All in one transaction: after a crash, all accounts are there, or none is. */
  private void openAccounts() {
    Key key = accounts.key();
    Row row = accounts.row().setLong(CENTS, FIRST_BALANCE);
    db.run(
        tx -> {
          for (long id = 0; id < ACCOUNTS; id++) {
            accounts.put(tx, key.set(id), row);
          }
        });
  }

  private void doBusiness() throws Exception {
    List<Future<Integer>> refused = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(TELLERS)) {
      for (int i = 0; i < TELLERS; i++) {
        Random random = new Random(i);
        refused.add(threads.submit(() -> new Teller().work(random)));
      }
      while (!refused.stream().allMatch(Future::isDone)) {
        if (sum() != ACCOUNTS * FIRST_BALANCE) {
          throw new AssertionError("Money was lost or made.");
        }
      }
    }
    int sum = 0;
    for (Future<Integer> each : refused) {
      sum += each.get();
    }
    System.out.println("transfers: " + (TELLERS * TRANSFERS - sum) + ", refused: " + sum);
  }

  /** A read-only transaction: what it returns belongs to one state of the database. */
  private long sum() {
    return db.read(
        tx -> {
          long sum = 0;
          try (Cursor c = accounts.scan(tx, Range.all(), Order.ASCENDING)) {
            while (c.next()) {
              sum += c.row().getLong(CENTS);
            }
          }
          return sum;
        });
  }

  /** The work of one thread. Keys and rows belong to one thread at a time, and are used again. */
  private final class Teller {
    private final Key from = accounts.key();
    private final Key to = accounts.key();
    private final Row giver = accounts.row();
    private final Row taker = accounts.row();

    /** Returns how many transfers were refused. */
    int work(Random random) {
      int refused = 0;
      for (int i = 0; i < TRANSFERS; i++) {
        long a = random.nextInt(ACCOUNTS);
        long b = (a + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
        if (!transfer(a, b, 1 + random.nextInt(500))) {
          refused++;
        }
      }
      return refused;
    }

    /** The body may run more than once: it changes nothing but the database. */
    boolean transfer(long a, long b, long cents) {
      return db.call(
          tx -> {
            boolean there =
                accounts.getForUpdate(tx, from.set(a), giver)
                    && accounts.getForUpdate(tx, to.set(b), taker);
            if (!there || giver.getLong(CENTS) < cents) {
              return false;
            }
            accounts.update(tx, giver.setLong(CENTS, giver.getLong(CENTS) - cents));
            accounts.update(tx, taker.setLong(CENTS, taker.getLong(CENTS) + cents));
            return true;
          });
    }
  }
}
