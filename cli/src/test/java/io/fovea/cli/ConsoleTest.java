package io.fovea.cli;

import static io.fovea.cli.ConsoleFixture.HOSTILE;
import static io.fovea.cli.ConsoleFixture.ROWS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.cli.ConsoleFixture.Served;
import io.fovea.config.Durability;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a console answers, and to whom. */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class ConsoleTest {
  private static final String HEADER = "Fovea-Token";

  @TempDir Path dir;

  private final HttpClient http = HttpClient.newHttpClient();

  /** The token that the page sends in a header. */
  private static String token(Served served) {
    String url = served.url();
    return url.substring(url.indexOf('=') + 1);
  }

  private static String encoded(Object text) {
    return URLEncoder.encode(text.toString(), StandardCharsets.UTF_8);
  }

  /** Names and values alternate. */
  private static String query(String path, Object... parameters) {
    StringBuilder s = new StringBuilder("/api/").append(path);
    for (int i = 0; i < parameters.length; i += 2) {
      s.append(i == 0 ? '?' : '&').append(parameters[i]).append('=');
      s.append(encoded(parameters[i + 1]));
    }
    return s.toString();
  }

  private HttpResponse<String> get(Served served, String token, String path) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create(served.base() + path)).header(HEADER, token).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private JsonObject read(Served served, String token, String path) throws Exception {
    HttpResponse<String> answer = get(served, token, path);
    assertEquals(200, answer.statusCode(), answer::body);
    return JsonParser.parseString(answer.body()).getAsJsonObject();
  }

  private HttpResponse<String> send(
      Served served, String method, String path, String body, String... headers) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(served.base() + path))
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> change(
      Served served, String token, String method, String path, String body) throws Exception {
    return send(
        served,
        method,
        path,
        body,
        HEADER,
        token,
        "Origin",
        served.base(),
        "Content-Type",
        "application/json");
  }

  // ---------------------------------------------------------------------------------------- access

  @Test
  void onlyTheOwnerOfTheTokenIsAnswered() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir))) {
      String token = token(served);
      assertEquals(200, get(served, token, "/api/info").statusCode());
      String wrong = token.substring(0, token.length() - 1) + "!";
      for (String path :
          List.of("/api/info", "/api/nothing", "/api/", "/api/jobs?token=" + token)) {
        assertEquals(401, send(served, "GET", path, "").statusCode(), path);
        assertEquals(401, get(served, wrong, path).statusCode(), path);
        for (String name : List.of("Cookie", "Authorization")) {
          String[] all = {name, name.equals("Cookie") ? HEADER + "=" + token : "Bearer " + token};
          assertEquals(401, send(served, "GET", path, "", all).statusCode(), path + name);
        }
      }
      for (String path : List.of("/nothing", "/../Main.class", "/package-info.class", "/api/x")) {
        assertEquals(404, get(served, token, path).statusCode(), path);
      }
      assertEquals(404, send(served, "POST", "/", "").statusCode());
      var headers = send(served, "GET", "/", "").headers();
      String policy = headers.firstValue("Content-Security-Policy").orElseThrow();
      assertTrue(policy.startsWith("default-src 'none'; script-src 'self';"), policy);
      assertEquals("nosniff", headers.firstValue("X-Content-Type-Options").orElseThrow());
    }
  }

  /** A browser would send a cookie to the servers of all ports, which other users may run. */
  @Test
  void browsersSendTheTokenToNoOtherPort() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir))) {
      String token = token(served);
      assertTrue(served.url().endsWith("/#token=" + token), "browsers send no fragments");
      for (String path :
          List.of("/", "/?token=" + token, "/main.js", "/api/info", "/favicon.ico")) {
        var answer = get(served, token, path);
        assertEquals(200, answer.statusCode(), path);
        assertEquals(List.of(), answer.headers().allValues("Set-Cookie"), path);
        assertFalse(answer.body().contains(token), path);
      }
    }
  }

  /** What a browser asks before it lets another site send the header. */
  @Test
  void noOtherSiteMaySendTheHeader() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir), "--write")) {
      for (String path : List.of("/", "/api/info", "/api/record")) {
        var answer =
            send(
                served,
                "OPTIONS",
                path,
                "",
                "Origin",
                "http://evil.example",
                "Access-Control-Request-Method",
                "DELETE",
                "Access-Control-Request-Headers",
                "fovea-token,content-type");
        assertTrue(answer.statusCode() >= 400, path);
        assertTrue(
            answer.headers().map().keySet().stream()
                .noneMatch(name -> name.toLowerCase(Locale.ROOT).startsWith("access-control")),
            path);
      }
    }
  }

  /** Sends a request with any Host header, which an HttpClient does not. */
  private static String statusWithHost(int port, String token, String host) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket
          .getOutputStream()
          .write(
              ("GET /api/info HTTP/1.1\r\nHost: "
                      + host
                      + "\r\nFovea-Token: "
                      + token
                      + "\r\nConnection: close\r\n\r\n")
                  .getBytes(StandardCharsets.ISO_8859_1));
      return new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1))
          .readLine()
          .split(" ")[1];
    }
  }

  @Test
  void foreignHostsAreRejected() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir))) {
      String token = token(served);
      int port = URI.create(served.base()).getPort();
      assertEquals("200", statusWithHost(port, token, "127.0.0.1:" + port));
      assertEquals("200", statusWithHost(port, token, "LOCALHOST:" + port));
      for (String host :
          List.of("evil.example:" + port, "127.0.0.1", "127.0.0.1:1", "localhost.evil:" + port)) {
        assertEquals("421", statusWithHost(port, token, host), host);
      }
    }
  }

  @Test
  void requestsOfOtherSitesAreRejected() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir), "--write")) {
      String token = token(served);
      String body = "{\"table\":\"stock\",\"key\":[\"0\",\"1\"]}";
      String json = "application/json";
      for (String origin : List.of("http://evil.example", "null", served.base() + "0")) {
        var answer =
            send(
                served,
                "DELETE",
                "/api/record",
                body,
                HEADER,
                token,
                "Origin",
                origin,
                "Content-Type",
                json);
        assertEquals(403, answer.statusCode(), origin);
      }
      assertEquals(
          403,
          send(served, "DELETE", "/api/record", body, HEADER, token, "Content-Type", json)
              .statusCode());
      assertEquals(
          415,
          send(
                  served,
                  "DELETE",
                  "/api/record",
                  body,
                  HEADER,
                  token,
                  "Origin",
                  served.base(),
                  "Content-Type",
                  "text/plain")
              .statusCode());
      assertEquals(
          403,
          send(served, "GET", "/api/info", "", HEADER, token, "Sec-Fetch-Site", "cross-site")
              .statusCode());
      read(served, token, query("record", "table", "stock", "key", 0, "key", 1));
      assertEquals(200, change(served, token, "DELETE", "/api/record", body).statusCode());
    }
  }

  // --------------------------------------------------------------------------------------- records

  /** Reads all pages of a search; returns the keys. */
  private List<String> keys(Served served, String token, int limit, Object... search)
      throws Exception {
    List<String> keys = new ArrayList<>();
    String first = query("records", search) + "&limit=" + limit;
    JsonElement next = null;
    do {
      JsonObject page =
          read(served, token, next == null ? first : first + "&at=" + encoded(next.getAsString()));
      JsonArray records = page.getAsJsonArray("records");
      records.forEach(r -> keys.add(r.getAsJsonObject().get("key").toString()));
      next = page.get("next");
      assertEquals(next.isJsonNull() ? records.size() : limit, records.size());
    } while (!next.isJsonNull());
    return keys;
  }

  private static List<String> reversed(List<String> of) {
    return of.reversed();
  }

  @Test
  @Tag("slow")
  void pagesHaveEachRecordOnce() throws Exception {
    Path file = ConsoleFixture.make(dir);
    try (Served served = new Served(file)) {
      String token = token(served);
      List<String> all = keys(served, token, 500, "table", "stock");
      assertEquals(ROWS + 1, all.size());
      assertEquals(ROWS + 1, new HashSet<>(all).size());
      assertEquals("[\"0\",\"0\"]", all.getFirst());
      assertEquals(
          reversed(all), keys(served, token, 499, "table", "stock", "order", "descending"));
      // Thousands of records have the same index key.
      List<String> byQuantity = keys(served, token, 500, "table", "stock", "index", "by_quantity");
      assertEquals(new TreeSet<>(all), new TreeSet<>(byQuantity));
      assertEquals(all.size(), byQuantity.size());
      assertEquals(
          reversed(byQuantity),
          keys(
              served, token, 500, "table", "stock", "index", "by_quantity", "order", "descending"));
      assertEquals(
          ROWS / 10,
          keys(served, token, 77, "table", "stock", "index", "by_quantity", "part", "", "null", 0)
              .size());
      assertEquals(1000, keys(served, token, 99, "table", "stock", "part", 3).size());
      List<String> from =
          keys(served, token, 99, "table", "stock", "mode", "from", "part", 8, "part", 8500);
      assertEquals(all.subList(8500, all.size()), from);
      assertEquals(
          List.of("[\"4\",\"4321\"]"),
          keys(served, token, 9, "table", "stock", "index", "by_name", "part", "item 4321"));
      for (int limit : List.of(1, 3, 200)) {
        assertEquals(200, keys(served, token, limit, "table", "things").size());
        assertEquals(4, keys(served, token, limit, "table", "files").size());
      }
      assertEquals(
          reversed(keys(served, token, 1, "table", "files")),
          keys(served, token, 1, "table", "files", "order", "descending"));
      assertEquals(
          List.of("[\"0xffff\"]"), keys(served, token, 1, "table", "files", "part", "0xff"));
      assertEquals(1, keys(served, token, 1, "table", "files", "part", "<scr").size());
    }
  }

  @Test
  void mistakesOfSearches() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir))) {
      String token = token(served);
      for (String wrong :
          List.of(
              query("records"),
              query("records", "table", "stock", "part", "x"),
              query("records", "table", "stock", "index", "none"),
              query("records", "table", "stock", "limit", 0),
              query("records", "table", "stock", "limit", "x"),
              query("records", "table", "stock", "at", "x"),
              query("records", "table", "stock", "at", "[]"),
              query("records", "table", "stock", "at", "[0,\"x\",\"y\"]"),
              query("records", "table", "stock", "null", 0),
              query("records", "table", "files", "part", "0x0"),
              query("record", "table", "stock", "key", 1),
              query("page", "number", "x"))) {
        HttpResponse<String> answer = get(served, token, wrong);
        assertEquals(400, answer.statusCode(), wrong + answer.body());
        String error =
            JsonParser.parseString(answer.body()).getAsJsonObject().get("error").getAsString();
        assertTrue(error.length() > 8 && !error.contains("Exception"), error);
      }
      assertEquals(404, get(served, token, query("records", "table", "absent")).statusCode());
      assertEquals(
          404,
          get(served, token, query("record", "table", "stock", "key", 1, "key", -1)).statusCode());
    }
  }

  @Test
  void valuesAreExact() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir))) {
      String token = token(served);
      JsonObject hostile =
          read(served, token, query("record", "table", "stock", "key", 99, "key", 1));
      assertEquals(
          HOSTILE,
          hostile.getAsJsonObject("cells").getAsJsonObject("name").get("text").getAsString());
      JsonObject binary = read(served, token, query("record", "table", "files", "key", "0x00ff01"));
      JsonObject value = binary.getAsJsonObject("cells").getAsJsonObject("value");
      assertEquals("8000", value.get("text").getAsString());
      JsonObject thing = read(served, token, query("record", "table", "things", "key", "thing 7"));
      assertEquals(
          "[\"a\",\"" + HOSTILE + "\"]",
          thing.getAsJsonObject("cells").getAsJsonObject("tags").get("text").getAsString());
      JsonObject longOne =
          read(served, token, query("record", "table", "files", "key", "long"))
              .getAsJsonObject("cells")
              .getAsJsonObject("value");
      assertEquals(300_000, longOne.get("length").getAsInt());
      assertTrue(longOne.get("cut").getAsBoolean());
      HttpResponse<byte[]> whole =
          http.send(
              HttpRequest.newBuilder(
                      URI.create(
                          served.base()
                              + query("value", "table", "files", "key", "long", "column", "value")))
                  .header(HEADER, token)
                  .build(),
              HttpResponse.BodyHandlers.ofByteArray());
      assertArrayEquals(new byte[300_000], whole.body());
      assertTrue(
          whole.headers().firstValue("Content-Disposition").orElseThrow().startsWith("attachment"));
    }
  }

  // ----------------------------------------------------------------------------------------
  // changes

  @Test
  void withoutWriteNothingChanges() throws Exception {
    Path file = ConsoleFixture.make(dir);
    byte[] before = Files.readAllBytes(file);
    try (Served served = new Served(file)) {
      String token = token(served);
      String key = "{\"table\":\"stock\",\"key\":[\"0\",\"1\"],\"values\":{\"name\":\"x\"}}";
      assertEquals(403, change(served, token, "PUT", "/api/record", key).statusCode());
      assertEquals(403, change(served, token, "DELETE", "/api/record", key).statusCode());
      assertFalse(read(served, token, "/api/info").get("write").getAsBoolean());
    }
    assertArrayEquals(before, Files.readAllBytes(file));
  }

  @Test
  void changesRecords() throws Exception {
    Path file = ConsoleFixture.make(dir);
    try (Served served = new Served(file, "--write")) {
      String token = token(served);
      String put =
          "{\"table\":\"stock\",\"key\":[\"5\",\"-5\"],\"create\":true,"
              + "\"values\":{\"name\":\"n\",\"quantity\":null}}";
      assertEquals(200, change(served, token, "PUT", "/api/record", put).statusCode());
      assertEquals(409, change(served, token, "PUT", "/api/record", put).statusCode());
      String update = put.replace("\"create\":true,", "").replace("null", "\"12\"");
      assertEquals(200, change(served, token, "PUT", "/api/record", update).statusCode());
      JsonObject cells =
          read(served, token, query("record", "table", "stock", "key", 5, "key", -5))
              .getAsJsonObject("cells");
      assertEquals("12", cells.getAsJsonObject("quantity").get("text").getAsString());
      for (String wrong :
          List.of(
              "[]",
              "{",
              "{}",
              "{\"table\":\"stock\"}",
              "{\"table\":\"stock\",\"key\":[[]],\"values\":{}}",
              "{\"table\":\"stock\",\"key\":[\"1\"],\"values\":{}}",
              "{\"table\":\"stock\",\"key\":[\"1\",\"1\"]}",
              "{\"table\":\"stock\",\"key\":[\"1\",\"1\"],\"values\":{\"no\":\"1\"}}",
              "{\"table\":\"stock\",\"key\":[\"1\",\"1\"],\"values\":{\"quantity\":\"x\"}}",
              "{\"table\":\"stock\",\"key\":[\"1\",\"1\"],\"values\":{\"quantity\":{}}}")) {
        var answer = change(served, token, "PUT", "/api/record", wrong);
        assertEquals(400, answer.statusCode(), wrong + answer.body());
      }
      String bytes = "{\"table\":\"files\",\"key\":[\"0xfe00\"],\"values\":{\"value\":\"0x00\"}}";
      assertEquals(200, change(served, token, "PUT", "/api/record", bytes).statusCode());
      assertEquals(200, change(served, token, "DELETE", "/api/record", bytes).statusCode());
      assertEquals(404, change(served, token, "DELETE", "/api/record", bytes).statusCode());
      assertEquals(0, served.end());
    }
    assertTrue(Fixture.lines("get", file, "stock", "5", "--", "-5").contains("quantity  12"));
  }

  @Test
  void concurrentRequests() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir), "--write")) {
      String token = token(served);
      List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        String body =
            "{\"table\":\"stock\",\"key\":[\"7\",\"7\"],\"values\":{\"quantity\":\"" + i + "\"}}";
        HttpRequest.Builder request =
            i % 3 == 0
                ? HttpRequest.newBuilder(URI.create(served.base() + "/api/record"))
                    .PUT(HttpRequest.BodyPublishers.ofString(body))
                    .headers("Origin", served.base(), "Content-Type", "application/json")
                : HttpRequest.newBuilder(
                    URI.create(
                        served.base()
                            + (i % 3 == 1 ? "/api/tables" : query("records", "table", "stock"))));
        all.add(
            http.sendAsync(
                request.header(HEADER, token).build(), HttpResponse.BodyHandlers.ofString()));
      }
      for (var each : all) {
        assertEquals(200, each.join().statusCode(), each.join()::body);
      }
    }
  }

  // -------------------------------------------------------------------------------------
  // operations

  private JsonObject finished(Served served, String token, String kind) throws Exception {
    JsonObject job;
    do {
      job = read(served, token, "/api/jobs").getAsJsonObject(kind);
    } while (job.get("running").getAsBoolean());
    return job;
  }

  private JsonObject done(Served served, String token, String kind, String more) throws Exception {
    var answer =
        change(served, token, "POST", "/api/jobs", "{\"kind\":\"" + kind + "\"" + more + "}");
    assertEquals(200, answer.statusCode(), answer::body);
    JsonObject job = finished(served, token, kind);
    assertTrue(job.get("error").isJsonNull(), job::toString);
    return job.getAsJsonObject("result");
  }

  @Test
  @Tag("slow")
  void verifiesBacksUpAndMaps() throws Exception {
    Path file = ConsoleFixture.make(dir);
    for (String[] options : new String[][] {{}, {"--write"}, {"--copy"}}) {
      try (Served served = new Served(file, options)) {
        String token = token(served);
        JsonObject verified = done(served, token, "verify", "");
        assertEquals(0, verified.getAsJsonArray("problems").size(), verified::toString);
        assertEquals(ROWS + 205, verified.get("records").getAsInt());
        JsonObject map = done(served, token, "pages", "");
        assertEquals(
            map.get("pages").getAsInt(), map.getAsJsonArray("cells").size(), map::toString);
        Set<String> trees = new HashSet<>();
        map.getAsJsonArray("kinds")
            .forEach(k -> trees.add(k.getAsJsonObject().get("tree").getAsString()));
        assertTrue(trees.containsAll(Set.of("stock", "stock.by_quantity", "files")), "" + trees);
        JsonObject leaves =
            map.getAsJsonArray("kinds").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .filter(k -> k.get("tree").getAsString().equals("stock"))
                .filter(k -> k.get("type").getAsString().equals("leaf"))
                .findAny()
                .orElseThrow();
        long used = leaves.get("usedBytes").getAsLong();
        assertTrue(used > 0 && used <= leaves.get("capacityBytes").getAsLong(), leaves::toString);
        assertTrue(
            map.getAsJsonArray("fills").asList().stream().anyMatch(n -> n.getAsInt() > 0),
            map::toString);
        String name = "backup" + options.length + (options.length > 0 ? options[0] : "");
        JsonObject copy = done(served, token, "backup", ",\"name\":\"" + name + "\"");
        assertEquals(dir.resolve(name).toString(), copy.get("directory").getAsString());
        assertTrue(Files.exists(dir.resolve(name).resolve("shop.fovea")));
        for (String wrong : List.of("../up", "/tmp/x", "", ".hidden", "a/b", name)) {
          var answer =
              change(
                  served,
                  token,
                  "POST",
                  "/api/jobs",
                  "{\"kind\":\"backup\",\"name\":\"" + wrong + "\"}");
          assertEquals(wrong.equals(name) ? 409 : 400, answer.statusCode(), wrong);
        }
        assertEquals(
            "superblock",
            read(served, token, query("page", "number", 0)).get("type").getAsString());
        JsonObject stats = read(served, token, "/api/stats").getAsJsonObject("figures");
        assertTrue(stats.has("commits") && stats.has("buffer.hits"), stats::toString);
      }
    }
  }

  @Test
  void copyOfDatabaseInUse() throws Exception {
    Path file = ConsoleFixture.make(dir);
    Options options = Options.defaults().durability(Durability.SYNC).bufferBytes(8 << 20);
    try (Database db = Database.open(file, options)) {
      Fixture.Ran refused = Fixture.ran("serve", file);
      assertEquals(2, refused.code(), refused::toString);
      assertTrue(refused.err().contains("accept --copy"), refused.err());
      var files = db.table(db.describe("files")).bytes();
      try (Served served = new Served(file, "--copy")) {
        String token = token(served);
        db.run(tx -> files.put(tx, ConsoleFixture.bytes("new"), new byte[1]));
        String path = query("record", "table", "files", "key", "new");
        assertEquals(404, get(served, token, path).statusCode());
        assertEquals(200, change(served, token, "POST", "/api/refresh", "{}").statusCode());
        JsonObject copied = finished(served, token, "copy");
        assertTrue(copied.get("error").isJsonNull(), copied::toString);
        assertEquals(200, get(served, token, path).statusCode());
        assertEquals(
            ProcessHandle.current().pid(),
            read(served, token, "/api/info").get("holder").getAsLong());
      }
    }
  }

  @Test
  @Tag("slow")
  void figuresOfTheOtherProcess() throws Exception {
    Path file = dir.resolve("busy.fovea");
    Process busy = TopTest.start(file, true);
    try (Served served = new Served(file, "--copy")) {
      String token = token(served);
      assertFalse(read(served, token, "/api/stats").get("attached").getAsBoolean());
      assertEquals(200, change(served, token, "POST", "/api/attach", "{}").statusCode());
      long before = 0;
      for (int i = 0; i < 3; i++) {
        JsonObject stats = read(served, token, "/api/stats");
        assertTrue(stats.get("attached").getAsBoolean());
        long commits = stats.getAsJsonObject("figures").get("commits").getAsLong();
        assertTrue(commits >= before && commits > 0, stats::toString);
        before = commits;
      }
      JsonObject transactions = read(served, token, "/api/transactions");
      assertTrue(transactions.get("attached").getAsBoolean());
      assertTrue(transactions.get("retries").getAsLong() > 0, transactions::toString);
      assertTrue(
          transactions.getAsJsonArray("causes").asList().stream()
              .map(JsonElement::getAsJsonObject)
              .anyMatch(
                  c ->
                      c.get("cause").getAsString().equals("VALIDATION")
                          && c.get("attempts").getAsLong() > 0
                          && c.get("retried").getAsBoolean()
                          && !c.get("explanation").getAsString().isBlank()),
          transactions::toString);
      JsonObject transfer =
          transactions.getAsJsonArray("bodies").asList().stream()
              .map(JsonElement::getAsJsonObject)
              .filter(b -> b.get("body").getAsString().equals("transfer"))
              .findAny()
              .orElseThrow();
      assertEquals(1, transfer.get("runs").getAsLong());
      assertEquals(1, transfer.get("retries").getAsLong());
      assertTrue(transfer.get("maxNanos").getAsLong() > 0, transfer::toString);
      assertEquals(
          "[{\"cause\":\"VALIDATION\",\"attempts\":1}]", transfer.get("causes").toString());
      TopTest.end(busy);
      // Its own figures follow.
      JsonObject stats = read(served, token, "/api/stats");
      assertTrue(stats.getAsJsonObject("figures").has("commits"), stats::toString);
      assertEquals(409, change(served, token, "POST", "/api/attach", "{}").statusCode());
    } finally {
      busy.destroyForcibly();
    }
  }

  /** A process that answers nothing delays no other request, and not the end of the console. */
  @Test
  @Tag("slow")
  void stoppedProcess() throws Exception {
    Path file = dir.resolve("busy.fovea");
    Process busy = TopTest.start(file, true);
    try (Served served = new Served(file, "--copy")) {
      String token = token(served);
      assertEquals(200, change(served, token, "POST", "/api/attach", "{}").statusCode());
      signal("-STOP", busy);
      URI stats = URI.create(served.base() + "/api/stats");
      for (int i = 0; i < 20; i++) { // more than the server has threads
        http.sendAsync(
            HttpRequest.newBuilder(stats).header(HEADER, token).build(),
            HttpResponse.BodyHandlers.ofString());
      }
      read(served, token, "/api/jobs");
      assertEquals(200, get(served, token, "/api/tables").statusCode());
      assertEquals(504, get(served, token, "/api/stats").statusCode());
      assertEquals(0, served.end());
    } finally {
      signal("-CONT", busy);
      busy.destroyForcibly();
    }
  }

  private static void signal(String name, Process to) throws Exception {
    Process kill = new ProcessBuilder("kill", name, "" + to.pid()).inheritIO().start();
    assertEquals(0, kill.waitFor());
  }

  // -------------------------------------------------------------------------------------- the
  // command

  @Test
  void closes() throws Exception {
    Path file = ConsoleFixture.make(dir);
    Served served = new Served(file, "--write");
    String base = served.base();
    assertEquals(2, Fixture.ran("get", file, "stock", "0", "1").code());
    served.end();
    Fixture.run(0, "get", file, "stock", "0", "1");
    assertThrows(
        ConnectException.class,
        () ->
            http.send(
                HttpRequest.newBuilder(URI.create(base)).build(),
                HttpResponse.BodyHandlers.ofString()));
  }

  @Test
  void behindProxy() throws Exception {
    Path file = ConsoleFixture.make(dir);
    try (Served served = new Served(file, "--behind-proxy", "https://fovea.example/db", "--json")) {
      String url = served.url();
      assertTrue(url.contains("\"https://fovea.example/db/#token="), url);
    }
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    try (Served served =
        new Served(file, "--behind-proxy", "https://fovea.example", "--port", "" + port)) {
      String token = token(served);
      assertEquals("200", statusWithHost(port, token, "fovea.example"));
      assertEquals("421", statusWithHost(port, token, "other.example"));
    }
  }

  @Test
  void https() throws Exception {
    Path file = ConsoleFixture.make(dir);
    Path keys = dir.resolve("keys.p12");
    Path password = Files.writeString(dir.resolve("password"), "secret1\n");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "a",
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=ip:127.0.0.1",
                "-storetype",
                "PKCS12",
                "-keystore",
                keys.toString(),
                "-storepass",
                "secret1")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertEquals(0, keytool.waitFor());
    KeyStore store = KeyStore.getInstance(keys.toFile(), "secret1".toCharArray());
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusting(store));
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    try (HttpClient secure = HttpClient.newBuilder().sslContext(tls).build();
        Served served =
            new Served(
                file, "--keystore", keys.toString(), "--keystore-password", password.toString())) {
      assertTrue(served.url().startsWith("https://127.0.0.1:"), served.url());
      var answer =
          secure.send(
              HttpRequest.newBuilder(URI.create(served.url())).build(),
              HttpResponse.BodyHandlers.ofString());
      assertEquals(200, answer.statusCode());
      assertTrue(answer.body().contains("<title>Fovea</title>"), answer::body);
    }
    Files.writeString(password, "wrong");
    Fixture.run(2, "serve", file, "--keystore", keys, "--keystore-password", password);
  }

  /** A store that trusts the certificate of another. */
  private static KeyStore trusting(KeyStore of) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    store.setCertificateEntry("a", of.getCertificate("a"));
    return store;
  }

  @Test
  void mistakesOfTheCommand() {
    Path file = ConsoleFixture.make(dir);
    for (List<String> wrong :
        List.of(
            List.of("--write", "--copy"),
            List.of("--port", "70000"),
            List.of("--port=-1"),
            List.of("--listen", "0.0.0.0"),
            List.of("--listen", "192.0.2.1"),
            List.of("--listen", ""),
            List.of("--listen", "192.0.2.1", "--behind-proxy", "http://fovea.example"),
            List.of("--behind-proxy", "fovea.example"),
            List.of("--keystore", "absent"),
            List.of("--keystore", dir.resolve("absent").toString(), "--keystore-password", "x"),
            // RFC 5737: no machine has this address
            List.of("--listen", "192.0.2.1", "--behind-proxy", "https://fovea.example"))) {
      List<Object> words = new ArrayList<>(List.of("serve", file));
      words.addAll(wrong);
      Fixture.Ran ran = Fixture.ran(words.toArray());
      assertEquals(2, ran.code(), wrong + ran.err());
      assertFalse(ran.err().toLowerCase(Locale.ROOT).contains("exception"), ran.err());
    }
    Fixture.run(2, "serve", dir.resolve("absent"));
    String err = Fixture.run(2, "serve", file, "--listen", "192.0.2.1").err();
    assertTrue(err.contains("give --keystore for HTTPS, or --behind-proxy"), err);
  }
}
