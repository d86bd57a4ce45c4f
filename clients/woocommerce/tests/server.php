<?php

/** The web server of the shop: it answers REST routes, as WordPress does. */

declare(strict_types=1);

require_once __DIR__ . '/load.php';

$route = $GLOBALS['routes'][$_GET['rest_route'] ?? ''] ?? null;
if ($route === null || $_SERVER['REQUEST_METHOD'] !== $route['methods']) {
    http_response_code(404);
    return;
}
$request = new WP_REST_Request(getallheaders(), (string) file_get_contents('php://input'));
$response = $route['callback']($request);
http_response_code($response->status);
header('Content-Type: application/json');
echo json_encode($response->data, JSON_THROW_ON_ERROR);
