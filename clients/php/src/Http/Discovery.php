<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

use Gatehouse\Client\Error\ConfigurationError;
use GuzzleHttp\ClientInterface as GuzzleClientInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;

/**
 * Finds what sends the requests.
 *
 * @internal
 */
final class Discovery
{
    /** Libraries whose one class makes both requests and streams. */
    private const FACTORIES = [
        'Nyholm\Psr7\Factory\Psr17Factory',
        'GuzzleHttp\Psr7\HttpFactory',
        'HttpSoft\Message\MessageFactory',
    ];

    /** @throws ConfigurationError when nothing is installed that could send requests */
    public static function transportOf(
        Transport|ClientInterface|HttpClientInterface|null $http,
        ?RequestFactoryInterface $requestFactory,
        ?StreamFactoryInterface $streamFactory,
    ): Transport {
        return match (true) {
            $http === null => self::installed(),
            $http instanceof Transport => $http,
            $http instanceof GuzzleClientInterface => new GuzzleTransport($http),
            $http instanceof HttpClientInterface => new SymfonyTransport($http),
            default => new Psr18Transport(
                $http,
                $requestFactory ?? self::factory($http, RequestFactoryInterface::class),
                $streamFactory ?? self::factory($http, StreamFactoryInterface::class),
            ),
        };
    }

    private static function installed(): Transport
    {
        if (class_exists('GuzzleHttp\Client') && defined('GuzzleHttp\ClientInterface::MAJOR_VERSION')) {
            return new GuzzleTransport(new \GuzzleHttp\Client());
        }
        if (class_exists('Symfony\Component\HttpClient\HttpClient')) {
            return new SymfonyTransport(\Symfony\Component\HttpClient\HttpClient::create());
        }
        throw new ConfigurationError(
            'No HTTP client is installed. Run "composer require guzzlehttp/guzzle", or give a PSR-18 client as http.',
        );
    }

    /**
     * @template Factory of object
     * @param class-string<Factory> $kind
     * @return Factory
     */
    private static function factory(ClientInterface $http, string $kind): object
    {
        // Some clients, such as Symfony's Psr18Client, are factories themselves.
        if ($http instanceof $kind) {
            return $http;
        }
        foreach (self::FACTORIES as $name) {
            $factory = class_exists($name) ? new $name() : null;
            if ($factory instanceof $kind) {
                return $factory;
            }
        }
        throw new ConfigurationError(
            'No PSR-17 factory is installed. Run "composer require nyholm/psr7", or give requestFactory and streamFactory.',
        );
    }
}
