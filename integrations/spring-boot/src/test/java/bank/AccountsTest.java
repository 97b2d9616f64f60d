package bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Table;
import io.fovea.spring.boot.test.FoveaTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Import;

@FoveaTest
@Import(Accounts.class)
class AccountsTest {
  @Autowired private Accounts accounts;
  @Autowired private Database db;

  @Test
  void transferMovesMoney() {
    accounts.open(1, "Ada", 100_00);
    accounts.open(2, "Bob", 0);
    accounts.transfer(1, 2, 25_00);
    assertEquals(75_00, accounts.find(1).orElseThrow().cents());
    assertEquals(25_00, accounts.find(2).orElseThrow().cents());
  }

  @Test
  void bodyIsRepeatedAfterConflict() {
    accounts.open(11, "Ada", 100);
    accounts.open(12, "Bob", 0);
    Table<Long, Account> table = db.table(Accounts.ACCOUNTS);
    int[] attempts = {0};
    db.run(
        tx -> {
          Account ada = table.find(tx, 11L).orElseThrow();
          if (attempts[0]++ == 0) {
            CompletableFuture.runAsync(() -> accounts.transfer(11, 12, 10)).join();
          }
          table.put(tx, ada.plus(-1));
        });
    assertEquals(2, attempts[0]);
    assertEquals(89, accounts.find(11).orElseThrow().cents());
  }

  @Test
  void concurrentTransfersKeepTheSum() throws Exception {
    accounts.open(21, "Ada", 1000);
    accounts.open(22, "Bob", 1000);
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> done =
          IntStream.range(0, 100)
              .<Future<?>>mapToObj(
                  i -> threads.submit(() -> accounts.transfer(21 + i % 2, 22 - i % 2, i)))
              .toList();
      for (Future<?> f : done) {
        f.get();
      }
    }
    // Even numbers move from 21 to 22, odd ones back: 50 more in the end.
    assertEquals(1050, accounts.find(21).orElseThrow().cents());
    assertEquals(950, accounts.find(22).orElseThrow().cents());
  }

  @Test
  void sliceHasTheDatabaseInMemoryAndNothingElse(@Autowired ApplicationContext context) {
    assertEquals("memory", db.stats().io().kind());
    assertFalse(Files.exists(Path.of("data/bank.fovea")));
    assertTrue(context.containsBean("foveaDatabase"));
    assertEquals(0, context.getBeanNamesForType(AccountController.class).length);
    assertFalse(context.containsBean("applicationTaskExecutor"));
  }
}
