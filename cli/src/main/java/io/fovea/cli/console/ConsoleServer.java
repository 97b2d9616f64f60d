package io.fovea.cli.console;

import com.google.gson.JsonObject;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Serves the console's page, and answers its requests, which are the paths that begin with {@code
 * /api/}. Only requests that pass {@link Access} are answered. Thread-safe.
 *
 * <p>An exception or error ends its request, with status 500 unless the answer was begun, and no
 * other request.
 */
public final class ConsoleServer implements AutoCloseable {
  private static final int THREADS = 16;

  private static final System.Logger LOG = System.getLogger("io.fovea.cli");

  /** The JDK's limit for the arrival of a request, in seconds; by default there is none. */
  private static final String REQUEST_TIME = "sun.net.httpserver.maxReqTime";

  private static final String REQUEST_SECONDS = "30";

  static {
    // Each request that arrives slowly occupies a thread, even before it has a token.
    if (System.getProperty(REQUEST_TIME) == null) {
      System.setProperty(REQUEST_TIME, REQUEST_SECONDS);
    }
  }

  /** The page needs no other origin, and runs no script that is not one of its files. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
          + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  /** The files of the page, with their media types. */
  private static final Map<String, String> FILES =
      Map.ofEntries(
          Map.entry("index.html", "text/html"),
          Map.entry("console.css", "text/css"),
          Map.entry("icon.svg", "image/svg+xml"),
          Map.entry("main.js", "text/javascript"),
          Map.entry("dom.js", "text/javascript"),
          Map.entry("api.js", "text/javascript"),
          Map.entry("overview.js", "text/javascript"),
          Map.entry("tables.js", "text/javascript"),
          Map.entry("browse.js", "text/javascript"),
          Map.entry("record.js", "text/javascript"),
          Map.entry("activity.js", "text/javascript"),
          Map.entry("samples.js", "text/javascript"),
          Map.entry("transactions.js", "text/javascript"),
          Map.entry("chart.js", "text/javascript"),
          Map.entry("jobs.js", "text/javascript"),
          Map.entry("pages.js", "text/javascript"),
          Map.entry("maintenance.js", "text/javascript"));

  private final HttpServer server;
  private final ExecutorService threads;
  private final Access access;
  private final Map<String, Route> routes;
  private final Function<Throwable, Failure> failures;

  private ConsoleServer(
      HttpServer server,
      Access access,
      Map<String, Route> routes,
      Function<Throwable, Failure> failures) {
    this.server = server;
    this.access = access;
    this.routes = routes;
    this.failures = failures;
    this.threads =
        Executors.newFixedThreadPool(
            THREADS, Thread.ofPlatform().daemon().name("fovea-console-", 0).factory());
  }

  /**
   * Starts a server.
   *
   * @param site where
   * @param routes answers by method and path: {@code "GET tables"} for {@code /api/tables}
   * @param failures the status and message of an exception or error that a route throws
   * @return the server, to be closed by the caller
   * @throws IOException if the address can't be bound to
   */
  public static ConsoleServer start(
      Site site, Map<String, Route> routes, Function<Throwable, Failure> failures)
      throws IOException {
    SSLContext tls = site.tls();
    HttpServer server;
    if (tls == null) {
      server = HttpServer.create(site.address(), 0);
    } else {
      HttpsServer https = HttpsServer.create(site.address(), 0);
      https.setHttpsConfigurator(new HttpsConfigurator(tls));
      server = https;
    }
    Access access = new Access(site, server.getAddress().getPort());
    ConsoleServer made = new ConsoleServer(server, access, Map.copyOf(routes), failures);
    server.setExecutor(made.threads);
    server.createContext("/", made::handle);
    server.start();
    return made;
  }

  /** {@return the URL that opens the console, with the token} */
  public String url() {
    return access.url();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      Failure failure;
      try {
        send(exchange, 200, answer(exchange));
        return;
      } catch (Failure e) {
        failure = e;
      } catch (RuntimeException | Error e) {
        failure = unexpected(e);
      }
      if (exchange.getResponseCode() < 0) { // nothing was sent yet
        send(exchange, failure.status(), failed(exchange, failure));
      }
    } catch (Error e) { // for example, no memory for the answer: its connection is closed
      unexpected(e);
    }
  }

  /** Logs an exception or error that no route expects. */
  private static Failure unexpected(Throwable e) {
    try {
      LOG.log(System.Logger.Level.ERROR, "A request failed", e);
      return new Failure(500, "the request failed: " + e);
    } catch (Error again) {
      return new Failure(500, "the request failed");
    }
  }

  private Reply answer(HttpExchange exchange) throws IOException {
    access.requireHost(exchange);
    String path = exchange.getRequestURI().getPath();
    String method = exchange.getRequestMethod();
    if (path.equals("/favicon.ico")) { // which browsers request for any page
      return file(method, "icon.svg");
    }
    if (!path.startsWith("/api/")) {
      return file(method, path.equals("/") ? "index.html" : path.substring(1));
    }
    access.requireToken(exchange);
    access.requireOrigin(exchange);
    Route route = routes.get(method + " " + path.substring("/api/".length()));
    if (route == null) {
      throw new Failure(404, "there is no " + method + " " + path);
    }
    Request request = Request.of(exchange);
    try {
      return route.answer(request);
    } catch (Failure e) {
      throw e;
    } catch (Exception | Error e) {
      throw failures.apply(e);
    }
  }

  private static Reply file(String method, String name) throws IOException {
    String type = FILES.get(name);
    if (type == null || !method.equals("GET")) {
      throw new Failure(404, "there is no such page");
    }
    try (@Nullable InputStream in = ConsoleServer.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException("The file " + name + " of the console is missing.");
      }
      return new Reply(type, in.readAllBytes(), Map.of());
    }
  }

  private static Reply failed(HttpExchange exchange, Failure e) {
    String message = String.valueOf(e.getMessage());
    if (exchange.getRequestURI().getPath().startsWith("/api/")) {
      JsonObject error = new JsonObject();
      error.addProperty("error", message);
      return Reply.json(error.toString());
    }
    String text = "fovea: " + message + "\n";
    return new Reply("text/plain", text.getBytes(StandardCharsets.UTF_8), Map.of());
  }

  private static void send(HttpExchange exchange, int status, Reply reply) throws IOException {
    Headers headers = exchange.getResponseHeaders();
    headers.set("Content-Type", reply.type() + "; charset=utf-8");
    headers.set("Content-Security-Policy", POLICY);
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("Referrer-Policy", "no-referrer");
    headers.set("Cross-Origin-Opener-Policy", "same-origin");
    headers.set("Cross-Origin-Resource-Policy", "same-origin");
    headers.set("Cache-Control", "no-store");
    reply.headers().forEach(headers::set);
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(
        status, head || reply.body().length == 0 ? -1 : reply.body().length);
    if (!head) {
      exchange.getResponseBody().write(reply.body());
    }
  }

  /** Ends all requests. A second call does nothing. */
  @Override
  public void close() {
    server.stop(0);
    threads.shutdown();
  }
}
