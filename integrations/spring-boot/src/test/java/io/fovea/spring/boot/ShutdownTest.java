package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Table;
import io.fovea.schema.Id;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** The order in which an application shuts down. */
class ShutdownTest {
  record Event(@Id String name) {}

  /** What has ended, and when requests and tasks continue. */
  static final class Progress {
    final List<String> ended = new CopyOnWriteArrayList<>();
    final CountDownLatch requestBegun = new CountDownLatch(1);
    final CountDownLatch taskBegun = new CountDownLatch(1);
    final CountDownLatch closing = new CountDownLatch(1);
  }

  /** Writes to the database after the shutdown has begun. */
  private static void finish(Progress progress, Database db, String name) {
    try {
      progress.closing.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(name + " was interrupted", e);
    }
    Table<String, Event> events = db.table(ObjectSpec.of("events", String.class, Event.class));
    db.run(tx -> events.insert(tx, new Event(name)));
    progress.ended.add(name);
  }

  @RestController
  static class Requests {
    private final Progress progress;
    private final Database db;

    Requests(Progress progress, Database db) {
      this.progress = progress;
      this.db = db;
    }

    @GetMapping("/slow")
    String slow() {
      progress.requestBegun.countDown();
      finish(progress, db, "request");
      return "done";
    }
  }

  static class Tasks {
    private final Progress progress;
    private final Database db;

    Tasks(Progress progress, Database db) {
      this.progress = progress;
      this.db = db;
    }

    @Scheduled(initialDelay = 0, fixedDelay = 3_600_000)
    void slow() {
      progress.taskBegun.countDown();
      finish(progress, db, "task");
    }
  }

  /** An executor that does not mention the database, and that would be created before it. */
  record Worker(Progress progress) implements Executor, AutoCloseable {
    @Override
    public void execute(Runnable task) {
      task.run();
    }

    @Override
    public void close() {
      progress.ended.add("executor");
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Workers {
    @Bean
    Worker worker(Progress progress) {
      return new Worker(progress);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableScheduling
  @Import({Workers.class, Requests.class, Tasks.class}) // in this order
  static class App {
    @Bean
    Progress progress() {
      return new Progress();
    }

    @Bean
    ApplicationListener<ContextClosedEvent> closing(Progress progress) {
      return event -> progress.closing.countDown();
    }
  }

  @Test
  void databaseClosesAfterRequestsTasksAndExecutors() throws Exception {
    ConfigurableApplicationContext context =
        new SpringApplicationBuilder(App.class)
            .registerShutdownHook(false)
            .run("--fovea.in-memory=true", "--server.port=0", "--server.shutdown=graceful");
    Progress progress = context.getBean(Progress.class);
    context.getBean(Database.class).onClose(() -> progress.ended.add("database"));
    String port = context.getEnvironment().getProperty("local.server.port");
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/slow")).build();
    try (HttpClient client = HttpClient.newHttpClient()) {
      CompletableFuture<HttpResponse<String>> answer =
          client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
      progress.requestBegun.await();
      progress.taskBegun.await();
      context.close();
      assertEquals(200, answer.get().statusCode());
    }
    assertEquals(4, progress.ended.size(), () -> progress.ended.toString());
    assertEquals(Set.of("request", "task"), Set.copyOf(progress.ended.subList(0, 2)));
    assertEquals(List.of("executor", "database"), progress.ended.subList(2, 4));
    assertTrue(!context.isActive());
  }
}
