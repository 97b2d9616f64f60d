package io.fovea.cli.console;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A request from the page: the parameters of its query, and its body. Not thread-safe.
 *
 * @param query the values of each parameter, in order
 * @param body a JSON object; empty for requests that only read
 */
public record Request(Map<String, List<String>> query, JsonObject body) {
  private static final int BODY_MAX = 16 << 20;

  static Request of(HttpExchange exchange) throws IOException {
    JsonObject body = new JsonObject();
    if (!exchange.getRequestMethod().equals("GET")) {
      byte[] bytes = exchange.getRequestBody().readNBytes(BODY_MAX + 1);
      if (bytes.length > BODY_MAX) {
        throw new Failure(413, "the request is longer than " + (BODY_MAX >> 20) + " MiB");
      }
      try {
        body = JsonParser.parseString(new String(bytes, StandardCharsets.UTF_8)).getAsJsonObject();
      } catch (JsonParseException | IllegalStateException e) {
        throw new Failure(400, "the body of the request is not a JSON object");
      }
    }
    return new Request(query(exchange.getRequestURI().getRawQuery()), body);
  }

  static Map<String, List<String>> query(@Nullable String raw) {
    Map<String, List<String>> all = new LinkedHashMap<>();
    for (String pair : raw == null || raw.isEmpty() ? new String[0] : raw.split("&")) {
      int at = pair.indexOf('=');
      String name = decoded(at < 0 ? pair : pair.substring(0, at));
      all.computeIfAbsent(name, n -> new ArrayList<>())
          .add(at < 0 ? "" : decoded(pair.substring(at + 1)));
    }
    return all;
  }

  private static String decoded(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new Failure(400, "the query of the request is malformed");
    }
  }

  /**
   * {@return a parameter of the query that must be present}
   *
   * @param name its name
   */
  public String required(String name) {
    String value = optional(name);
    if (value == null) {
      throw new Failure(400, "the parameter " + name + " is missing");
    }
    return value;
  }

  /**
   * {@return a parameter of the query; null if it is absent}
   *
   * @param name its name
   */
  public @Nullable String optional(String name) {
    return query.containsKey(name) ? query.get(name).getFirst() : null;
  }

  /**
   * {@return all values of a parameter of the query}
   *
   * @param name its name
   */
  public List<String> all(String name) {
    return query.getOrDefault(name, List.of());
  }
}
