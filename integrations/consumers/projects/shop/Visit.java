package shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;

/** Uses the service of docs/guide/getting-started.md once; see release.sh. */
final class Visit {
  public static void main(String[] args) throws IOException, InterruptedException {
    Path folder = Path.of("data");
    try (Main main = new Main(folder, 0)) {
      System.out.print(get(main, "/register/ada@example.org/Ada"));
      System.out.print(get(main, "/order/ada@example.org/tea/450"));
    }
    try (Main main = new Main(folder, 0)) {
      System.out.print(get(main, "/orders/ada@example.org"));
    }
  }

  private static String get(Main main, String path) throws IOException, InterruptedException {
    URI uri = URI.create("http://localhost:" + main.http.getAddress().getPort() + path);
    try (HttpClient client = HttpClient.newHttpClient()) {
      return client
          .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString())
          .body();
    }
  }

  private Visit() {}
}
