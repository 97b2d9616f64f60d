package bank;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The application. */
@SpringBootApplication
public class BankApplication {
  public static void main(String[] args) {
    SpringApplication.run(BankApplication.class, args);
  }
}
