package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.cli.console.Failure;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Operations that fail, and those that run when the console ends. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ConsoleJobsTest {
  private static Map<String, @Nullable Object> ended(ConsoleJobs jobs, String kind) {
    Map<String, @Nullable Object> job;
    do {
      Thread.onSpinWait();
      job = jobs.all().get(kind);
    } while (Boolean.TRUE.equals(job.get("running")));
    return job;
  }

  @Test
  void anErrorEndsTheOperation() {
    try (ConsoleJobs jobs = new ConsoleJobs()) {
      jobs.start(
          "verify",
          () -> 0,
          0,
          () -> {
            throw new StackOverflowError("on purpose");
          });
      String error = String.valueOf(ended(jobs, "verify").get("error"));
      assertTrue(error.contains("StackOverflowError"), error);
      jobs.start("verify", () -> 0, 0, () -> "found");
      assertEquals("found", ended(jobs, "verify").get("result"));
    }
  }

  @Test
  void theConsoleEndsDuringAnOperation() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    ConsoleJobs jobs = new ConsoleJobs();
    jobs.start(
        "copy",
        () -> 0,
        0,
        () -> {
          begun.countDown();
          new CountDownLatch(1).await(); // until it is interrupted
          return "";
        });
    begun.await();
    assertEquals(true, jobs.all().get("copy").get("running"));
    Failure busy = assertThrows(Failure.class, () -> jobs.start("verify", () -> 0, 0, () -> ""));
    assertEquals(409, busy.status());
    jobs.close();
    assertEquals(false, jobs.all().get("copy").get("running"));
    Failure late = assertThrows(Failure.class, () -> jobs.start("verify", () -> 0, 0, () -> ""));
    assertEquals(503, late.status());
  }
}
