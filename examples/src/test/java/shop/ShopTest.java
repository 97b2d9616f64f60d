package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.FileReport;
import io.fovea.Options;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the service of docs/guide/getting-started.md, as the page does with curl. */
class ShopTest {
  @TempDir Path folder;

  private final HttpClient client = HttpClient.newHttpClient();

  @Test
  void gettingStartedService() throws Exception {
    try (Main main = new Main(folder, 0)) {
      assertEquals("200 1", get(main, "/register/ada@example.org/Ada"));
      assertEquals("200 2", get(main, "/register/bob@example.org/Bob"));
      assertTrue(get(main, "/register/ada@example.org/Eve").startsWith("409 "));
      assertEquals("200 1", get(main, "/order/ada@example.org/tea/450"));
      assertEquals("200 2", get(main, "/order/ada@example.org/cup/900"));
      assertTrue(get(main, "/order/eve@example.org/tea/450").startsWith("404 "));
      assertTrue(get(main, "/meters").contains("fovea.transactions"));
      assertTrue(get(main, "/backup").contains(" pages are in "));
    }
    try (Main main = new Main(folder, 0)) {
      assertEquals("200 2: cup, 900\n1: tea, 450", get(main, "/orders/ada@example.org"));
    }
    try (Stream<Path> files = Files.list(folder)) {
      Path copy = files.filter(f -> f.toString().contains("backup-")).findFirst().orElseThrow();
      assertTrue(FileReport.verify(copy.resolve("shop.fovea"), Options.defaults()).ok());
      try (Main main = new Main(copy, 0)) {
        assertEquals("200 2: cup, 900\n1: tea, 450", get(main, "/orders/ada@example.org"));
      }
    }
  }

  private String get(Main main, String path) throws Exception {
    URI uri = URI.create("http://localhost:" + main.http.getAddress().getPort() + path);
    HttpResponse<String> answer =
        client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    return answer.statusCode() + " " + answer.body().strip();
  }
}
