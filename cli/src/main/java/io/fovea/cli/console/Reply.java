package io.fovea.cli.console;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * An answer with status 200.
 *
 * @param type the media type
 * @param body the content
 * @param headers further headers
 */
public record Reply(String type, byte[] body, Map<String, String> headers) {
  /**
   * {@return an answer in JSON}
   *
   * @param text the JSON value
   */
  public static Reply json(String text) {
    return new Reply("application/json", text.getBytes(StandardCharsets.UTF_8), Map.of());
  }

  /**
   * {@return bytes that the browser saves as a file and never displays}
   *
   * @param body the content
   */
  public static Reply download(byte[] body) {
    return new Reply(
        "application/octet-stream",
        body,
        Map.of("Content-Disposition", "attachment; filename=\"value.bin\""));
  }
}
