package io.fovea.cli.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** A server whose routes fail. */
@Isolated // reads the log
class ConsoleServerTest {
  private final List<Throwable> logged = new CopyOnWriteArrayList<>();
  private final Logger logger = Logger.getLogger("io.fovea.cli");
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          logged.add(record.getThrown());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    logger.addHandler(handler);
    logger.setUseParentHandlers(false);
  }

  @AfterEach
  void listenNoMore() {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
  }

  private static int deep(int n) {
    return n == Integer.MIN_VALUE ? 0 : 1 + deep(n + 1);
  }

  private static HttpResponse<String> get(HttpClient http, ConsoleServer server, String path)
      throws Exception {
    URI url = URI.create(server.url());
    String token = url.getFragment().substring("token=".length());
    return http.send(
        HttpRequest.newBuilder(url.resolve("/api/" + path))
            .header(Access.HEADER, token)
            .timeout(java.time.Duration.ofMinutes(5))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void anErrorEndsOneRequest() throws Exception {
    Map<String, Route> routes =
        Map.of(
            "GET memory",
            r -> {
              throw new OutOfMemoryError("on purpose");
            },
            "GET stack",
            r -> Reply.json("" + deep(0)),
            "GET bug",
            r -> {
              throw new AssertionError("on purpose");
            },
            "GET failing",
            r -> {
              throw new IllegalStateException("on purpose");
            },
            "GET well",
            r -> Reply.json("{}"));
    // One error more than the server has threads, in case that each of them ends one.
    try (HttpClient http = HttpClient.newHttpClient();
        ConsoleServer server =
            ConsoleServer.start(
                Site.loopback(0),
                routes,
                e -> {
                  if (e instanceof IllegalStateException) {
                    throw new OutOfMemoryError("while describing an exception");
                  }
                  logged.add(e);
                  return new Failure(500, "failed: " + e);
                })) {
      for (int i = 0; i < 17; i++) {
        for (String path : List.of("memory", "stack", "bug", "failing")) {
          HttpResponse<String> answer = get(http, server, path);
          assertEquals(500, answer.statusCode(), path);
          assertTrue(answer.body().startsWith("{\"error\":"), answer::body);
        }
      }
      assertEquals(200, get(http, server, "well").statusCode());
      assertEquals(4 * 17, logged.size());
    }
  }
}
