package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Headless Chromium, by the WebDriver protocol of chromedriver. For one thread. */
final class Browser implements AutoCloseable {
  private static final String STARTED = "started successfully on port ";

  private final Process driver;
  private final HttpClient http = HttpClient.newHttpClient();
  private final String base;
  private String session = "";

  /**
   * Starts a browser.
   *
   * @param profile an empty directory
   */
  Browser(Path profile) throws Exception {
    this.driver =
        new ProcessBuilder(find("chromedriver").toString(), "--port=0")
            .redirectErrorStream(true)
            .start();
    BufferedReader out =
        new BufferedReader(new InputStreamReader(driver.getInputStream(), StandardCharsets.UTF_8));
    String line = out.readLine();
    while (line != null && !line.contains(STARTED)) {
      line = out.readLine();
    }
    assertTrue(line != null, "chromedriver ended");
    String port = line.substring(line.indexOf(STARTED) + STARTED.length()).replace(".", "");
    this.base = "http://127.0.0.1:" + port;
    Map<String, Object> chrome =
        Map.of(
            "binary",
            find("chromium").toString(),
            "args",
            List.of(
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                "--hide-scrollbars",
                "--window-size=1280,800",
                "--user-data-dir=" + profile));
    JsonObject made =
        call(
                "POST",
                "/session",
                Map.of(
                    "capabilities",
                    Map.of(
                        "alwaysMatch",
                        Map.of(
                            "goog:chromeOptions",
                            chrome,
                            "goog:loggingPrefs",
                            Map.of("browser", "ALL")))))
            .getAsJsonObject();
    this.session = "/session/" + made.get("sessionId").getAsString();
  }

  /** Finds a program on the path; null if it is not installed. */
  static @Nullable Path find(String program) {
    return Stream.of(System.getenv("PATH").split(":"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst()
        .orElse(null);
  }

  private JsonElement call(String method, String path, @Nullable Object body)
      throws IOException, InterruptedException {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(URI.create(base + session + path))
                .method(
                    method,
                    body == null
                        ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofString(new Gson().toJson(body)))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertTrue(answer.statusCode() == 200, answer::body);
    return JsonParser.parseString(answer.body()).getAsJsonObject().get("value");
  }

  void open(String url) throws Exception {
    call("POST", "/url", Map.of("url", url));
  }

  /** Evaluates an expression of JavaScript. */
  JsonElement eval(String expression, Object... arguments) throws Exception {
    return call(
        "POST",
        "/execute/sync",
        Map.of("script", "return " + expression, "args", List.of(arguments)));
  }

  /** Waits until an expression is true; the limit of the test is that of the wait. */
  void until(String expression, Object... arguments) throws Exception {
    call("POST", "/timeouts", Map.of("script", 600_000));
    call(
        "POST",
        "/execute/async",
        Map.of(
            "script",
            "const done = arguments[arguments.length - 1];"
                + "const look = () => { let is = false; try { is = "
                + expression
                + " } catch (e) { is = false } is ? done() : requestAnimationFrame(look) }; look();",
            "args",
            List.of(arguments)));
  }

  /** Clicks the element of a selector as soon as it exists. */
  void click(String selector) throws Exception {
    until("document.querySelector(arguments[0])", selector);
    eval("document.querySelector(arguments[0]).click()", selector);
  }

  /** Sets the text of a field as typing does. */
  void type(String selector, String text) throws Exception {
    until("document.querySelector(arguments[0])", selector);
    eval("document.querySelector(arguments[0]).value = arguments[1]", selector, text);
  }

  /** The text of the page. */
  String text() throws Exception {
    return eval("document.body.innerText").getAsString();
  }

  void dark(boolean is) throws Exception {
    call(
        "POST",
        "/goog/cdp/execute",
        Map.of(
            "cmd",
            "Emulation.setEmulatedMedia",
            "params",
            Map.of(
                "features",
                List.of(Map.of("name", "prefers-color-scheme", "value", is ? "dark" : "light")))));
  }

  /** Waits for a second tab, and continues in that. */
  void otherTab() throws Exception {
    String own = call("GET", "/window", null).getAsString();
    String other = own;
    while (other.equals(own)) {
      for (JsonElement each : call("GET", "/window/handles", null).getAsJsonArray()) {
        other = each.getAsString().equals(own) ? other : each.getAsString();
      }
    }
    call("POST", "/window", Map.of("handle", other));
  }

  byte[] screenshot() throws Exception {
    return Base64.getDecoder().decode(call("GET", "/screenshot", null).getAsString());
  }

  /** The messages of the console of the browser. */
  List<String> messages() throws Exception {
    return call("POST", "/se/log", Map.of("type", "browser")).getAsJsonArray().asList().stream()
        .map(JsonElement::toString)
        .toList();
  }

  @Override
  public void close() throws IOException {
    try {
      if (!session.isEmpty()) {
        call("DELETE", "", null);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      driver.destroy();
    }
  }
}
