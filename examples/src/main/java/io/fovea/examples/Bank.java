package io.fovea.examples;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Threads that move money between accounts: transactions, conflicts, an invariant.
 *
 * <p>Several tellers transfer money between few accounts, so their transactions often conflict. The
 * engine then runs a body again, without any code in the program. Meanwhile an auditor adds up all
 * accounts. Transactions are serializable, so every sum is the same.
 *
 * <p>Usage: {@code Bank FOLDER}
 */
public final class Bank {
  private static final int ACCOUNTS = 20;
  private static final long FIRST_BALANCE = 1_000;
  private static final int TELLERS = 4;
  private static final int TRANSFERS = 250;

  record Account(@Id long id, long cents) {
    Account plus(long more) {
      return new Account(id, cents + more);
    }
  }

  private static final ObjectSpec<Long, Account> SPEC =
      ObjectSpec.of("accounts", Long.class, Account.class);

  private final Database db;
  private final Table<Long, Account> accounts;

  private Bank(Database db) {
    this.db = db;
    this.accounts = db.table(SPEC); // opens the table, or creates it
  }

  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[0]).resolve("bank.fovea");
    try (Database db = Database.open(file)) {
      Bank bank = new Bank(db);
      bank.openAccounts();
      bank.doBusiness();
      System.out.println("retries after conflicts: " + db.stats().retries());
      System.out.println("sum: " + bank.sum());
    }
  }

  /** Creates all accounts in one transaction: after a crash all of them exist, or none. */
  private void openAccounts() {
    db.run(
        tx -> {
          for (long id = 0; id < ACCOUNTS; id++) {
            accounts.put(tx, new Account(id, FIRST_BALANCE));
          }
        });
  }

  private void doBusiness() throws Exception {
    List<Future<Integer>> refused = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(TELLERS)) {
      for (int i = 0; i < TELLERS; i++) {
        Random random = new Random(i);
        refused.add(threads.submit(() -> work(random)));
      }
      while (!refused.stream().allMatch(Future::isDone)) {
        if (sum() != ACCOUNTS * FIRST_BALANCE) {
          throw new AssertionError("Money was lost or created.");
        }
      }
    }
    int sum = 0;
    for (Future<Integer> each : refused) {
      sum += each.get();
    }
    System.out.println("transfers: " + (TELLERS * TRANSFERS - sum) + ", refused: " + sum);
  }

  /** A read-only transaction: the result belongs to one state of the database. */
  private long sum() {
    return db.read(
        tx ->
            accounts.stream(tx, null, null, ScanOrder.ASCENDING)
                .mapToLong(e -> e.getValue().cents())
                .sum());
  }

  /** The work of one thread; returns the number of refused transfers. */
  private int work(Random random) {
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

  /** The body may run more than once, so it changes nothing but the database. */
  private boolean transfer(long from, long to, long cents) {
    return db.call(
        tx -> {
          Account giver = accounts.getForUpdate(tx, from);
          Account taker = accounts.getForUpdate(tx, to);
          if (giver == null || taker == null || giver.cents() < cents) {
            return false;
          }
          accounts.put(tx, giver.plus(-cents));
          accounts.put(tx, taker.plus(cents));
          return true;
        });
  }
}
