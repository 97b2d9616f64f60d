package bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.spring.boot.test.AutoConfigureTestFovea;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@AutoConfigureTestFovea
class BankTest {
  @Value("${local.server.port}")
  private int port;

  @Test
  void accountsOverHttp() throws Exception {
    assertEquals("200 ", send("POST", "/accounts/1?owner=Ada&cents=10000"));
    assertEquals("200 ", send("POST", "/accounts/2?owner=Bob&cents=0"));
    assertEquals("409 ", send("POST", "/accounts/2?owner=Eve&cents=0"));
    assertEquals("200 ", send("POST", "/transfers?from=1&to=2&cents=2500"));
    assertEquals("404 ", send("POST", "/transfers?from=1&to=3&cents=2500"));
    assertEquals("200 {\"number\":1,\"owner\":\"Ada\",\"cents\":7500}", send("GET", "/accounts/1"));
    assertTrue(send("GET", "/accounts/3").startsWith("404 "));
  }

  @Test
  void healthShowsTheDatabase() throws Exception {
    String health = send("GET", "/actuator/health/fovea");
    assertTrue(health.startsWith("200 "), health);
    assertTrue(health.contains("\"status\":\"UP\""), health);
    assertTrue(health.contains("\"state\":\"running\""), health);
    assertTrue(health.contains("\"device\":\"memory\""), health);
  }

  @Test
  void metersAreInTheRegistry() throws Exception {
    String meter = send("GET", "/actuator/metrics/fovea.transactions?tag=outcome:commit");
    assertTrue(meter.startsWith("200 "), meter);
    assertTrue(meter.contains("\"db.id\""), meter);
  }

  private String send(String method, String path) throws IOException, InterruptedException {
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
              .method(method, HttpRequest.BodyPublishers.noBody())
              .build();
      HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      return answer.statusCode() + " " + answer.body();
    }
  }
}
